import { readAddress } from "./address.js";
import { align } from "./align.js";
import { fillDots } from "./elided.js";
import { findFragments } from "./fragments.js";
import type { Ladder } from "./ladder.js";
import { learnStyle } from "./line-style.js";
import { looseLine, plainTabs, plainTypography } from "./normal.js";
import { orderRows } from "./order.js";
import { plainLadder, trimmedEnd } from "./plain.js";
import { stand } from "./stand.js";

const trimmedPlain = (line: string) => plainTypography(line).trimEnd();

/** All rungs. */
export const looseLadder: Ladder = {
  steps: [
    ...plainLadder.steps,
    ["typography", trimmedPlain, trimmedPlain],
    ["escapes", trimmedEnd, (line) => plainTabs(line).trimEnd()],
    ["indentation", looseLine, looseLine],
  ],
  fill: fillDots,
  align,
  findFragments,
  learnStyle,
  readAddress,
  orderRows,
  stand,
};
