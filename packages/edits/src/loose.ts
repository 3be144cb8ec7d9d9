export { anchored } from "./match/anchored.js";
export { looseLadder as rungs } from "./match/loose.js";
export { repairs } from "./unified/repairs.js";
