;;; Applies the emacs-agent document's rule for events, one name line and one data line, to a captured stream.  -*- lexical-binding: t -*-
(with-temp-buffer
  (let ((coding-system-for-read 'utf-8-unix))
    (insert-file-contents (pop command-line-args-left)))
  (goto-char (point-min))
  (while (not (eobp))
    (when (looking-at "event: \\(.*\\)\ndata: \\(.*\\)")
      (let ((name (match-string 1))
            (data (json-parse-string (match-string 2))))
        (princ (format "%s %s\n" name (gethash "type" data)))))
    (forward-line 1)))
