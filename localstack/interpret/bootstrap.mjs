// What runs a function in Node on the local stack, by the Runtime API that AWS documents
// ("Using the Lambda runtime API for custom runtimes"): it asks for work, calls the handler
// with it, and posts what that returns or throws.
import { existsSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const env = process.env;

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

function told(error) {
  console.error(error?.stack ?? String(error));
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
  if (!file) throw new Error(`no ${path}.mjs, .js or .cjs`);
  const module = await import(pathToFileURL(file));
  const handler = module[name.slice(dot + 1)] ?? module.default?.[name.slice(dot + 1)];
  if (typeof handler !== "function") throw new Error(`${file} exports no function ${name.slice(dot + 1)}`);
  return handler;
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
  await call("POST", "init/error", told(error));
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
    body = told(error);
  }
  await call("POST", path, body);
}
