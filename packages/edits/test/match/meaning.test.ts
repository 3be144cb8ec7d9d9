import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import type { ApplyOptions } from "../../src/match/aligner.js";
import { parsePatch } from "../../src/unified/parse.js";

/** Applies a hunk whose first context line is another than the text's. */
function applyWith(
  line: string,
  there: string,
  { rest = "", path = "x.ts", ...options }: ApplyOptions & { rest?: string; path?: string } = {},
) {
  const body = `const first = one();\nconst second = two();\nold(line);\nconst third = three();\nconst fourth = four();\n`;
  const text = `${there}\n${body}${rest}`;
  const hunk = ` ${line}\n${body.replace(/^/gm, " ").trimEnd()}\n`.replace(" old(line);", "-old(line);\n+now(line);");
  const reading = parsePatch(`--- a/${path}\n+++ b/${path}\n@@ ... @@\n${hunk}`);
  if (!reading.ok) expect.fail(JSON.stringify(reading.errors));
  const result = applyPatch(reading.patch, text, options);
  if (result.ok) expect(result.text).toBe(text.replace("old(line)", "now(line)"));
  return result;
}

describe("a context line of another meaning is another line", () => {
  test.each([
    ["an operator more", "if (!user.ok) return;", "if (user.ok) return;"],
    ["another operator", "if (count == limit) return;", "if (count != limit) return;"],
    ["an operator for two", "if (count > limit) return;", "if (count >= limit) return;"],
    ["another sign", "const total = price + margin;", "const total = price - margin;"],
    ["a bracket more", "const total = call((price);", "const total = call(price);"],
    ["another digit", "const total = price * 10;", "const total = price * 20;"],
    ["a digit more", "const total = price * 10;", "const total = price * 100;"],
    ["a digit in a name", "const value1 = compute();", "const value2 = compute();"],
    ["another word of two letters", "const bound = getMin(values);", "const bound = getMax(values);"],
    ["another short name", "const bound = rows[i][k];", "const bound = rows[i][j];"],
    ["another keyword", "let total = price(margin);", "set total = price(margin);"],
    ["a keyword more", "await async total(margin);", "async total(margin);"],
    ["true for false", "const isOpen = true; // now", "const isOpen = false; // now"],
    ["another case", "const User = find(margin);", "const user = find(margin);"],
    ["more than one of it", "const users = find(margin);", "const user = find(margin);"],
    ["another time", "const closed = find(margin);", "const close = find(margin);"],
    ["the host for the port", "const post = find(margin);", "const port = find(margin);"],
    ["another string", 'const mode = "read only";', 'const mode = "road only";'],
    ["other quotes", "const mode = 'read only';", 'const mode = "read only";'],
    [
      "a comment that a tool reads",
      "open(); // eslint-disable-line no-alert",
      "open(); // eslint-disable-line no-eval",
    ],
    ["a comment about something else", "open(); // the first of the rows", "open(); // tells why nobody is there"],
    ["a letter before a sign that is a word of its own", "const total = a -b.margin;", "const total = -ab.margin;"],
    ["an operator on the other side of a name", "total = i++ + margin;", "total = +i+ + margin;"],
    ["a digit on the other side of a letter", "const total = sh1a(margin);", "const total = sha1(margin);"],
    ["two words misspelt", "const totol = prcie(margin);", "const total = price(margin);"],
  ])("with %s", (_, line, there) => {
    const refused = { ok: false, conflicts: [{ reason: "not-found" }] };
    expect(applyWith(line, there)).toMatchObject(refused);
    expect(applyWith(there, line)).toMatchObject(refused);
  });

  /** Words a letter or two apart, each of which code means something by. */
  const APART = (
    "_sync/_async patch_load/catch_load stat/start stage/state model/modal dest/desc math/match share/shard court/count quota/quote " +
    "filler/filter retro/retry from/form user/uses test/text lock/look lock/log look/log cast/case load/lead send/sent min/max " +
    "min/mid max/mid row/raw row/now raw/now src/str ifdef/ifndef strcpy/strncpy sprintf/snprintf cars/cards enable/disable " +
    "lock/unlock retries/retires files/flies message/massage compliant/complaint discrete/discreet contact/contract import/impart " +
    "perform/preform center/centre striped/stripped chose/choose catching/caching internal/interval equality/quality onerror/noerror " +
    "user/users elif/elsif else/elseif isOpen/open valid/invalid active/inactive possible/impossible known/unknown able/unable " +
    "null/nonnull empty/nonempty encode/decode close/closed owned/owner read/reader getMin/getMax margin1/margin2 existing/exiting " +
    "simulate/stimulate compete/complete transit/transmit present/preset convert/covert friction/fiction fraction/faction " +
    "perfect/prefect signing/singing signed/singed trial/trail trailing/trialing casual/causal casually/causally united/untied " +
    "martial/marital compiler/complier compiled/complied compiles/complies retired/retried prepares/preparse centers/centres " +
    "theater/theatre farming/framing treaties/treatise angle/angel quiet/quite scared/sacred nuclear/unclear barely/barley " +
    "dairy/diary sliver/silver split/spilt field/filed fields/fields2 later/latter diner/dinner hoping/hopping scared/scarred " +
    "taped/tapped super/supper planed/planned planer/planner staring/starring desert/dessert filing/filling scraping/scrapping " +
    "stripping/striping comma/coma cannon/canon cancelled/canceled modelled/modeled traveller/traveler referrer/referer " +
    "ordinance/ordnance appraise/apprise therefore/therefor envelope/envelop lightening/lightning thorough/through though/through " +
    "though/thought trough/through adverse/averse accept/except affect/effect access/assess advice/advise device/devise ensure/insure " +
    "adapter/adaptor resize/reside station/ration prefix/suffix insert/invert invert/invest content/context context/contest " +
    "content/consent resource/recourse resolver/revolver resolve/revolve relation/rotation mutation/notation rotation/notation " +
    "transform/transfer transition/transaction reserve/reverse conversation/conservation expect/except creation/reaction " +
    "restrain/retrain retain/retrain strained/stained constraint/constrained extract/extent attach/attack attached/attacked " +
    "detach/detect detect/defect defect/deflect reject/eject inject/infect insect/inspect inspect/respect aspect/expect replay/relay " +
    "reply/relay reply/replay replayed/relayed replies/relies deploy/employ expanded/expended extended/expended indent/intent " +
    "intent/invent invent/event event/even prevent/present reference/preference deferred/differed infer/inter interface/interfere " +
    "interaction/iteration literal/lateral lateral/later integral/interval internet/internat promotion/motion mention/tension " +
    "retention/detention version/aversion conversion/conversation inversion/invasion revision/reversion division/decision " +
    "session/section process/progress processor/professor permission/remission emission/omission portable/potable variable/valuable " +
    "printable/paintable executable/excitable adapt/adopt adaption/adoption server/sever service/device reserved/reversed " +
    "function/junction action/auction additive/addictive addition/edition edition/audition collection/correction direction/election " +
    "section/selection reduction/seduction production/protection projection/protection operation/separation location/vocation " +
    "allocation/location evaluation/evacuation resolution/revolution execution/elocution quantity/quality identity/entity " +
    "density/destiny property/properly native/naive driver/diver derive/drive archive/achieve reactive/creative passive/massive " +
    "getpid/getppid strchr/strrchr setgid/setsid setuid/setgid execvp/execlp rmdir/redir malloc/calloc memcpy/memcmp argc/argv " +
    "printf/fprintf recvmsg/recvmmsg setattr/setxattr status/statfs fgets/gets atoi/atol putc/puts stdin/stdio mkdir/mkdirp " +
    "nodelay/ndelay ready/readv server/semver names/fnames flags/fflags inode/vnode param/params token/tokens attr/attrs " +
    "index/indent width/widths height/weight weight/eight bold/bolt code/node node/mode mode/made date/data data/meta time/type " +
    "type/tape typed/types path/patch path/patho batch/patch batch/match watch/match hash/cash cash/cache cache/catch push/pull " +
    "pull/poll poll/pool pool/tool tool/took hook/took hook/book bool/book boot/boost root/route route/router rout/root port/sort " +
    "sort/short port/post post/past past/paste cost/const const/cons list/last last/fast fast/cast hist/list host/post host/most " +
    "most/must just/must size/side side/hide hide/hint hint/print point/print paint/point part/port part/parse parse/pause " +
    "pause/cause cause/clause clause/close close/clone clone/alone store/stone storage/stage sorted/stored string/strong string/sting " +
    "strict/struct strip/script script/scrip scroll/stroll scope/slope shape/share sharp/share space/spare spawn/span span/spin " +
    "pin/pan pin/ping ping/pong bind/bend bind/find find/fine fine/line line/lines link/line link/sink sink/sync sync/sing init/unit " +
    "unit/until until/util exit/edit edit/emit emit/limit limit/limits merge/marge marge/margin image/imagine trace/track track/stack " +
    "stack/slack task/mask mask/mark mark/park park/part queue/query query/quest request/requests zone/none none/done done/gone"
  ).split(" ");

  test("with a word that is a letter or two from another word", () => {
    const lines = (word: string) => [
      `  ${word}(total, margin);`,
      `const total_${word} = this.${word}Of(margin);`,
      `${word}: [margin, 1]`,
    ];
    expect(APART.length).toBeGreaterThan(300);
    for (const pair of APART) {
      const [one, other] = pair.split("/").map(lines) as [string[], string[]];
      for (const [i, line] of one.entries()) {
        expect(applyWith(line, other[i]!), pair).toMatchObject({ ok: false });
        expect(applyWith(other[i]!, line), pair).toMatchObject({ ok: false });
      }
    }
  });

  test.each([
    ["a letter too few", "const total = calcuateMargin;", "const total = calculateMargin;"],
    ["a letter twice", "const totall = price(margin);", "const total = price(margin);"],
    ["two letters swapped", "const total = calcualteMargin;", "const total = calculateMargin;"],
    ["a keyword misspelt", "retrun total(margin);", "return total(margin);"],
    ["a letter behind its blank", "export typ e{Margin};", "export type {Margin};"],
  ])("with %s: nothing tells a slip from another word", (_, line, there) => {
    expect(applyWith(line, there)).toMatchObject({ ok: false });
  });

  test("with white space where there is none", () => {
    expect(applyWith("color = a .b;", "color = a.b;")).toMatchObject({ ok: false });
    expect(applyWith("total = i++ + j;", "total = i + ++j;")).toMatchObject({ ok: false });
    expect(applyWith("total  =  i;", "total = i;")).toMatchObject({ ok: true });
  });
});

describe("a comment of a context line", () => {
  test.each([
    ["x.ts", "open(); // takes the first of all rows", "open(); // takes the first row of all"],
    ["x.go", "// takes the frst of all rows", "// takes the first of all rows"],
    ["x.ts", "* Takes the first of `all` rows.", "* Takes the first of all the `all` rows."],
    ["x.py", "# takes the first of all rows", "# takes the first row of all rows"],
    ["x.ts", "Takes the frst of `all` rows.", "/**\nTakes the first of `all` rows."],
  ])("may have other words: %s, %s", (path, line, there) => {
    expect(applyWith(line, there, { path })).toMatchObject({ ok: true, hunks: [{ repairs: ["context"] }] });
  });

  test.each([
    ["a heading", "x.md", "# Enable the cache of rows", "# Disable the cache of rows"],
    ["a division", "x.py", "total = (a // rows if wide else columns)", "total = (a // lines if wide else columns)"],
    ["a preprocessor's line", "x.c", "# define some limit of rows", "# define other limit of rows"],
    ["a shell's pattern", "x.sh", "cp src/* build and the target", "cp src/* debug and the target"],
    ["a string", "x.ts", 'open("// takes the first of rows', 'open("// takes the last of rows'],
    [
      "what a tool reads",
      "x.ts",
      "// eslint-disable-next-line no-alert in this",
      "// eslint-disable-next-line no-eval in this",
    ],
    ["a tag with a type", "x.js", " * @param {min} limit of the rows", " * @param {max} limit of the rows"],
    ["about something else", "x.ts", "// the first of the rows", "// tells why nobody is there"],
  ])("is none, or another one: %s", (_, path, line, there) => {
    expect(applyWith(line, there, { path })).toMatchObject({ ok: false });
  });
});
