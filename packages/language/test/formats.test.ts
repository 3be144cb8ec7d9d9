import { describe, expect, it } from "vitest";
import { FORMATS, isStandard } from "../src/formats.js";

/** Texts that a format allows, and others. */
const cases: Readonly<Record<string, readonly [valid: string, invalid: string]>> = {
  // Months, days of each, and leap years.
  date: [
    "2024-02-29 2000-02-29 2023-02-28 2023-01-31 2023-04-30 1999-12-31 0000-02-29",
    "2023-02-29 1900-02-29 2023-02-30 2023-04-31 2023-13-01 2023-00-10 2023-01-00 2023-01-32 23-01-01 2023-1-1 2023-01-01Z ২০২৩-01-01",
  ],
  time: [
    "00:00:00Z 23:59:59z 12:00:00.123+05:30 23:59:60Z 15:59:60-08:00 00:59:60+01:00 22:59:60.5-01:00 23:59:60+00:00",
    "24:00:00Z 12:60:00Z 12:00:61Z 12:00:00 12:00:00+24:00 12:00:00+01:60 22:59:60Z 23:58:60Z 23:59:60+01:00 00:59:60-01:00 12:00:00+0100 12:00:00+01 1:00:00Z",
  ],
  "date-time": [
    "2024-02-29T23:59:60Z 1998-12-31t15:59:60.123-08:00 2023-01-01T00:00:00+14:00",
    "2023-02-29T00:00:00Z 2023-01-01T24:00:00Z 2023-01-01T00:00:00 2023-01-01 2023-01-01T22:59:60Z 2023-01-01_00:00:00Z",
  ],
  email: [
    'a@b.c a.b+c@localhost "a..b"@x.org "a@b"@x.org a@[127.0.0.1] a@[IPv6:::1]',
    "a .a@b.c a.@b.c a..b@c.d a@-b.c a@b-.c a@[1.2.3] a@[300.0.0.1] a@b@c",
  ],
  "idn-email": ["실례@실례.테스트 a@b.c", "2962 실례@ @실례.테스트 a..b@c.d"],
  "idn-hostname": [
    "실례.테스트 example.com l·l α͵β א׳ב ァ・ xn--ihqwcrb4cv8a8dqg056pqjye क्‍ष",
    "-a a- a·l α͵S A׳ב def・ab xn--X ab--cd 〮실 ःhello क‍ष ١۱",
  ],
  iri: ["http://ƒøø.ßår/?∂éœ=πîx#πîüx http://[2001:db8::1]/ urn:x", "/abc âππ \\\\W http://2001:db8::7334 http://a|b"],
  "iri-reference": ["/âππ #ƒräg http://ƒøø.ßår/", "\\\\WINDOWS #ƒräg\\mênt a|b"],
  uuid: ["2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2eb8aa08 2eb8aa08-aa98-11ea-b4aa-73b441d1638z"],
  ipv4: ["192.168.0.1", "256.1.1.1 1.2.3 01.2.3.4"],
};

describe("FORMATS", () => {
  it.each(Object.entries(cases))("has %s as its specification defines it", (name, [valid, invalid]) => {
    const form = FORMATS.get(name) as RegExp;
    for (const text of valid.split(" ")) expect([text, form.test(text)]).toEqual([text, true]);
    for (const text of invalid.split(" ")) expect([text, form.test(text)]).toEqual([text, false]);
  });

  it("knows formats of others, which a contract may also declare itself", () => {
    for (const name of ["uint64", "int32", "double", "byte", "binary", "password", "ulid", "file-path"])
      expect([name, FORMATS.get(name), isStandard(name)]).toEqual([name, true, false]);
    expect([isStandard("date"), isStandard("regex"), isStandard("ticket")]).toEqual([true, true, false]);
  });
});
