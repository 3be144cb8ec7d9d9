import * as jsonc from "jsonc-parser";

/** A JSON syntax error and its place. Lines and columns count from 1. */
export interface SyntaxFault {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

const expected: Readonly<Record<string, string>> = {
  InvalidSymbol: "this is no value of JSON; a string stands in double quotes",
  UnexpectedEndOfNumber: "the number lacks digits",
  PropertyNameExpected: "a property's name in double quotes is expected",
  ValueExpected: "a value is expected",
  ColonExpected: "a colon is expected",
  CommaExpected: "a comma is expected",
  CloseBraceExpected: "a closing brace is expected",
  CloseBracketExpected: "a closing bracket is expected",
  EndOfFileExpected: "the end of the file is expected",
  InvalidCommentToken: "JSON has no comments",
  UnexpectedEndOfComment: "JSON has no comments",
  UnexpectedEndOfString: "the string has no end",
  InvalidUnicode: "the escape \\u is followed by four hexadecimal digits",
  InvalidEscapeCharacter: "there is no such escape",
  InvalidCharacter: "a control character is written as an escape",
};

/** Finds the first syntax error of a text. */
export function syntaxFault(text: string): SyntaxFault {
  let found: SyntaxFault | undefined;
  jsonc.visit(
    text,
    {
      onError: (code, _offset, _length, line, character) => {
        found ??= {
          line: line + 1,
          column: character + 1,
          message: expected[jsonc.printParseErrorCode(code)] ?? "this is not JSON",
        };
      },
    },
    { disallowComments: true, allowTrailingComma: false },
  );
  return found ?? { line: 1, column: 1, message: "this is not JSON" };
}
