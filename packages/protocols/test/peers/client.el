;;; A client of emacs-agent, from its document: a prompt, an approval and the end of a session.  -*- lexical-binding: t -*-
;; Prints a line for each event, with its type and a field that tells it from others.
(require 'url)
(require 'json)
(setq locale-coding-system 'utf-8)

(defvar peer-base (pop command-line-args-left))
(defvar peer-events nil "Events that wait, newest first.")
(defvar peer-rest "" "Text of the stream that is not a whole event yet.")

(defun peer-request (method path &optional body)
  "Send BODY as JSON to PATH with METHOD and return the parsed answer."
  (let ((url-request-method method)
        (url-request-extra-headers '(("Content-Type" . "application/json")))
        (url-request-data (and body (encode-coding-string (json-serialize body) 'utf-8))))
    (with-current-buffer (url-retrieve-synchronously (concat peer-base path) t t 20)
      (goto-char url-http-end-of-headers)
      (json-parse-string (decode-coding-string (buffer-substring (point) (point-max)) 'utf-8)))))

(defun peer-filter (_process text)
  "Collect the events in TEXT: one name line, then one data line."
  (setq peer-rest (concat peer-rest text))
  (while (string-match "^event: \\(.*\\)\ndata: \\(.*\\)\n\n" peer-rest)
    (push (cons (match-string 1 peer-rest)
                (json-parse-string (decode-coding-string (match-string 2 peer-rest) 'utf-8)))
          peer-events)
    (setq peer-rest (substring peer-rest (match-end 0)))))

(defun peer-subscribe (path)
  "Open the event stream at PATH."
  (let* ((url (url-generic-parse-url peer-base))
         (process (make-network-process :name "events" :host (url-host url) :service (url-port url)
                                        :coding 'binary :filter #'peer-filter :sentinel #'ignore)))
    (process-send-string
     process
     (format "GET %s HTTP/1.0\r\nHost: %s:%d\r\nAccept: text/event-stream\r\n\r\n" path (url-host url) (url-port url)))
    process))

(let* ((session (gethash "session_id" (peer-request "POST" "/api/sessions" '(:project_path "/p"))))
       (path (concat "/api/sessions/" session))
       (process (peer-subscribe (concat path "/events")))
       (prompted nil)
       (ended nil))
  (while (or peer-events (accept-process-output process 20) (process-live-p process))
    (dolist (event (reverse (prog1 peer-events (setq peer-events nil))))
      (let* ((data (cdr event))
             (state (gethash "state" data)))
        (princ (format "%s %s\n" (car event)
                       (or state (gethash "content" data) (gethash "status" data) (gethash "tool" data))))
        (cond
         ((eq (gethash "requires_approval" data) t)
          (peer-request "POST" (concat path "/approve") `(:tool_call_id ,(gethash "tool_call_id" data))))
         ((and (equal state "idle") (not prompted))
          (setq prompted t)
          (peer-request "POST" (concat path "/prompt") '(:text "é😀")))
         ((and (equal state "idle") (not ended))
          (setq ended t)
          (peer-request "DELETE" path)))))))
