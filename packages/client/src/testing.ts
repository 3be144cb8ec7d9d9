export { type Clock, stopClock } from "./testing/clock.js";
export { type Play, play, type Script } from "./testing/play.js";
