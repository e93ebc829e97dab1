export async function handler(event, context) {
  if (event.fail) throw new TypeError(event.fail);
  if (event.nothing) return;
  return { event, root: process.env.LAMBDA_TASK_ROOT === process.cwd(), name: context.functionName, left: context.getRemainingTimeInMillis() };
}
