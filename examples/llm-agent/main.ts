import { createServer } from "node:http";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { handler } from "@parlance/server/node";
import express from "express";
import { Registry } from "prom-client";
import { serveAgent } from "./agent.js";

const { LLM_URL: baseURL = "http://127.0.0.1:11434/v1", LLM_MODEL = "qwen3", TOKEN = "secret" } = process.env;
const registry = new Registry();
const model = createOpenAICompatible({ name: "llm", baseURL })(LLM_MODEL);
const web = express();
web.get("/metrics", async (_, answer) => void answer.type(registry.contentType).send(await registry.metrics()));
web.use("/agent", handler(serveAgent(model, process.cwd(), { [TOKEN]: "me" }, registry)));
createServer(web).listen(8080, "127.0.0.1", () => console.log("http://127.0.0.1:8080/agent"));
