// What runs a function in Node on the local stack, by the Runtime API that AWS documents
// ("Using the Lambda runtime API for custom runtimes"): it asks for work, calls the handler
// with it, and posts what that returns or throws.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { request } from "node:http";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

const env = process.env;
const notFound = "Runtime.HandlerNotFound";

function call(method, path, body) {
  const url = `http://${env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime/${path}`;
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers: { "content-type": "application/json" } }, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("end", () => resolve({ headers: answer.headers, text: Buffer.concat(parts).toString() }));
      answer.on("error", reject);
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

// Prints an error as Node does, and returns Lambda's document of it.
function failure(error) {
  if (error?.name !== notFound) console.error(error);
  return JSON.stringify({
    errorType: error?.name ?? "Error",
    errorMessage: error?.message ?? String(error),
    trace: String(error?.stack ?? "").split("\n"),
  });
}

async function load(name) {
  const dot = name.lastIndexOf(".");
  const path = join(env.LAMBDA_TASK_ROOT, name.slice(0, dot));
  const file = [".mjs", ".js", ".cjs"].map((end) => path + end).find(existsSync);
  const missing = (message) => Object.assign(new Error(message), { name: notFound });
  if (!file) throw missing(`there is no ${name.slice(0, dot)}.mjs, .js or .cjs`);
  const module = await import(pathToFileURL(file)).catch((error) => {
    // What import throws has no line of a file whose syntax is wrong.
    if (error instanceof SyntaxError) spawnSync(process.execPath, ["--check", file], { stdio: "inherit" });
    throw error;
  });
  const all = { ...module.default, ...module };
  if (typeof all[name.slice(dot + 1)] === "function") return all[name.slice(dot + 1)];
  const own = Object.keys(all).filter((key) => typeof all[key] === "function").join(", ") || "none";
  throw missing(`${basename(file)} exports no function ${name.slice(dot + 1)}: it has ${own}`);
}

function contextOf(headers) {
  const deadline = Number(headers["lambda-runtime-deadline-ms"]);
  return {
    awsRequestId: headers["lambda-runtime-aws-request-id"],
    invokedFunctionArn: headers["lambda-runtime-invoked-function-arn"],
    functionName: env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: env.AWS_LAMBDA_FUNCTION_VERSION,
    memoryLimitInMB: env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: env.AWS_LAMBDA_LOG_STREAM_NAME,
    getRemainingTimeInMillis: () => deadline - Date.now(),
  };
}

let handler;
try {
  handler = await load(process.argv[1]);
} catch (error) {
  await call("POST", "init/error", failure(error));
  process.exit(1);
}
for (;;) {
  const { headers, text } = await call("GET", "invocation/next");
  const id = headers["lambda-runtime-aws-request-id"];
  env._X_AMZN_TRACE_ID = headers["lambda-runtime-trace-id"];
  let path = `invocation/${id}/response`;
  let body;
  try {
    body = JSON.stringify((await handler(JSON.parse(text), contextOf(headers))) ?? null);
  } catch (error) {
    path = `invocation/${id}/error`;
    body = failure(error);
  }
  await call("POST", path, body);
}
