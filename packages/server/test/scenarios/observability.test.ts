import { testFences } from "../../../cli/test/fences.js";

testFences(new URL("../../../../docs/observability.md", import.meta.url));
