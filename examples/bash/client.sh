#!/usr/bin/env bash
# A client of the operations and event streams of a contract, with curl and jq. It validates no schema and has no WebSockets.
# As a program it is an adapter for the conformance suite (docs/conformance.md):
#   parlance conform schemas/fold-gateway --client "bash examples/bash/client.sh schemas/fold-gateway"
set -uo pipefail
contract=$1/contract.json

# What a call sends and how its answer is read, a value a line.
bind() {
  jq -r --slurpfile contract "$contract" '
    $contract[0] as $c | . as $line | $c.operations[.operation] as $call
    | (.input + ($call.when // {})) as $values | ($call.parameters // {}) as $parameters
    | ([$parameters | to_entries[] | select(.value.in == "query" and $values[.key] != null) | "\(.key)=\($values[.key] | tostring | @uri)"] | join("&")) as $query
    | $call.method,
      .url + ($call.path | gsub("\\{(?<key>\\w+)\\}"; $values[.key] | tostring | @uri)) + if $query == "" then "" else "?" + $query end,
      (if $call.body then $values | with_entries(select($parameters[.key] == null)) | tojson else "" end),
      (if $c.auth and .token then ($c.auth.header // "Authorization") + (if $c.auth.header then ": " else ": Bearer " end) + .token else "" end),
      ([.steps[].receive // 0] | add // 0), (.steps[-1].close // false),
      ($call.answer | if .stream then "stream" elif .json then "json" elif .text then "text" else "nothing" end),
      ($call.answer.stream // {} | .end // [] | join(" ")), ($call.answer.stream // {} | .mayEnd // [] | join(" ")),
      ($call.answer.stream // {} | .messages // [] | join(" ")), $c.tag.in, ($c.tag.property // "")' <<< "$1"
}

report() { # kind, then what belongs to it as JSON
  jq -cn --argjson messages "[$messages]" --arg kind "$1" --argjson more "${2:-{\}}" \
    '{ messages: $messages, error: (if $kind == "" then null else { kind: $kind } + $more end) }'
}

refusal() { # status, body
  jq -cn --argjson status "$1" --arg body "$2" --slurpfile contract "$contract" '
    $contract[0].fault as $fault | (try ($body | fromjson) catch null) as $value
    | def first_of($places): first($places[]? as $place | $value | getpath($place | ltrimstr("/") | split("/") | map(tonumber? // .))? | strings) // null;
    { status: $status, code: first_of($fault.code), text: (first_of($fault.text) // $body) }'
}

message() { # event, data: the message, flat with its name as `type`; nothing for an unknown one
  jq -c --arg event "$1" --arg in "$tag" --arg property "$property" --arg names "$names" '
    if type != "object" then error("no object") else . end
    | (if $in == "property" then .[$property] else $event end) as $type
    | select(any($names | split(" ")[]; . == $type))
    | (if $in == "property" then del(.[$property]) else . end) + { type: $type }' <<< "$2" 2> /dev/null
}

is_in() { [[ " $2 " == *" $1 "* ]]; }

# Reads the event stream on descriptor 3 (WHATWG HTML, section 9.2.6).
stream() {
  local line event="" data="" has_data="" over="" count=0 first=1 found
  while IFS= read -r line <&3; do
    line=${line%$'\r'}
    [[ $first ]] && line=${line#$'\xef\xbb\xbf'} && first=""
    case $line in
      data:*) line=${line#data:} data+=${has_data:+$'\n'}${line# } has_data=1 ;;
      event:*) event=${line#event:} event=${event# } ;;
      "")
        if [[ $has_data ]]; then
          found=$(message "${event:-message}" "$data") || { report violation; return; }
          if [[ $found ]]; then
            messages+=${messages:+,}$found
            name=$(jq -r .type <<< "$found")
            is_in "$name" "$ends" && { report ""; return; }
            is_in "$name" "$may_end" && over=1 || over=""
            ((++count == due)) && [[ $closes == true ]] && { report ""; return; }
          fi
        fi
        event="" data="" has_data=""
        ;;
    esac
  done
  wait "$curl" && [[ $over ]] && report "" || report disconnected
}

while IFS= read -r line; do
  messages=""
  { read -r method; read -r url; read -r body; read -r token; read -r due; read -r closes; read -r kind; read -r ends; read -r may_end; read -r names; read -r tag; read -r property; } < <(bind "$line")
  # The head comes before the body, in one stream with it.
  exec 3< <(exec curl --silent --no-buffer --include --request "$method" ${token:+--header "$token"} ${body:+--header "Content-Type: application/json" --data-binary "$body"} "$url")
  curl=$!
  status=""
  while IFS= read -r head <&3 && [[ $head != $'\r' ]]; do
    [[ $head == HTTP/* ]] && read -r _ status _ <<< "$head"
  done
  if [[ ! $status ]]; then
    report disconnected
  elif [[ $kind == stream && $status -lt 400 ]]; then
    stream
  else
    text=$(cat <&3; echo x)
    text=${text%x}
    if ! wait "$curl"; then
      report disconnected
    elif ((status >= 400)); then
      report refusal "$(refusal "$status" "$text")"
    elif [[ $kind == json ]]; then
      messages=$(jq -c . <<< "$text" 2> /dev/null) && [[ $messages ]] && report "" || { messages=""; report violation; }
    else
      messages=$(jq -cn --arg text "$text" --arg kind "$kind" 'if $kind == "text" then $text else null end')
      report ""
    fi
  fi
  exec 3<&-
  kill "$curl" 2> /dev/null
  wait "$curl" 2> /dev/null
done
