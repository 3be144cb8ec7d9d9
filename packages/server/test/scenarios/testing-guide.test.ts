import { testFences } from "../../../cli/test/fences.js";

testFences(new URL("../../../../docs/testing.md", import.meta.url));
