import { testFences } from "../../../cli/test/fences.js";

testFences(new URL("../../README.md", import.meta.url));
testFences(new URL("../../../../docs/conformance.md", import.meta.url));
