export { memoryPubSub, type PubSub } from "./cluster/pubsub.js";
