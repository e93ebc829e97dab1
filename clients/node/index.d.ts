// What is put, and what a consumer gets: docs/openapi.yaml and docs/schema/lambda.json.

/** A number up to 2^53, a string of digits beyond. */
export type Seq = number | string;

/**
 * A message to put, as POST /messages takes it; a body of bytes is put as it is. With a seq it is
 * for a numbered queue, with a key and an id for a keyed one, without both for one in arrival order.
 */
export interface PutMessage {
  queue: string;
  seq?: Seq | bigint;
  first?: Seq | bigint | "here";
  kind?: "arrival";
  key?: unknown;
  keyType?: string;
  prev?: string;
  id?: string;
  body?: unknown;
  bodyBase64?: string;
  contentType?: string;
  attributes?: Record<string, string>;
  traceparent?: string;
  tracestate?: string;
}

/** What became of a message that was accepted: outcome is advanced, parked, duplicate, … */
export interface Result {
  status: number;
  queue: string;
  outcome?: string;
  seq?: Seq;
  old?: Seq;
  new?: Seq;
  late?: boolean;
  settlesAt?: string;
  maxAhead?: number;
  clockAhead?: boolean;
  first?: Seq;
  detail?: string;
  code?: string;
}

/** A message of a batch. body() reads its body. */
export interface Message {
  seq: Seq;
  contentType: string;
  enqueuedAt: string;
  key?: unknown;
  late?: boolean;
  unlinked?: boolean;
  id?: string;
  body?: unknown;
  bodyBase64?: string;
  attributes?: Record<string, string>;
  traceparent?: string;
  tracestate?: string;
  edge?: string;
}

/** What a consumer's function is called with: every seq after from, up to to. */
export interface Batch {
  queue: string;
  consumer: string;
  token: string;
  tokenN: Seq;
  from: Seq;
  to: Seq;
  attempt: number;
  rewinds: number;
  messages: Message[];
  skipped: Seq[];
  tenant?: string;
}

/** The messages up to this seq are done; those behind it come again. */
export interface Done { done: Seq }
/** The messages before the first failure are done; the others come again. */
export interface BatchItemFailures { batchItemFailures: { itemIdentifier: string }[] }
/** The batch is done, and these messages are put, once. */
export interface Replies { replies: PutMessage[] }
/** The batch is committed later, with PATCH /claims and its token. */
export interface Defer { deferSeconds: number }
/** What a consumer's function may return; nothing says that the whole batch is done. */
export type Answer = Done | BatchItemFailures | Replies | Defer | undefined;

/**
 * Returns a message's body: the value of one that is JSON, the bytes of any other. Throws for one
 * that says it is JSON and is not.
 */
export function body(message: Message): any;

/** Returns the answer that the messages up to this one are done. */
export function done(message: Message): Done;

/**
 * Calls handle with each message in order, and returns the answer for the batch. Where handle
 * throws, the messages before are done: the error is logged, and the batch comes again from the
 * failed message on. Throws the error where it is the first message's.
 */
export function each(batch: Batch, handle: (message: Message) => unknown): Promise<Answer>;

/** A webhook that is not signed with the secret, or is older than the tolerance. */
export class SignatureError extends Error {}

/**
 * Verifies a webhook by Standard Webhooks, and returns its id, which a repeat has too. content is
 * the request's body as it came, unparsed; secrets are several while one is changed for another.
 * Throws a SignatureError for a webhook to refuse, a TypeError for a secret, tolerance or now
 * that is none.
 */
export function verify(
  content: string | Uint8Array,
  headers: Headers | Record<string, string | string[] | undefined>,
  secrets: string | string[],
  options?: { toleranceSeconds?: number; now?: number },
): string;

declare class Failed extends Error {
  /** The message as it was sent, with its id: another put of it is a repeat. */
  sent: PutMessage;
  /** The status of the last answer about it; 0 where there was none. */
  status: number;
  detail: string;
}

/** A message that the API refuses for good or, beside the outcome ahead, for now. */
export class Refused extends Failed {
  outcome: string;
  code: string;
  /** The member of the message that is wrong, where one is. */
  field: string;
  /** The queue's position, beside ahead: put the message of the next seq first. */
  position?: Seq;
}

/** A message without an answer within giveUpAfterMs: it may be stored. Put it again. */
export class GaveUp extends Failed {}

/** Some messages of a put were not accepted. results has a Result or an error for each. */
export class PutError extends Error {
  results: (Result | Refused | GaveUp)[];
  errors: (Refused | GaveUp)[];
}

export interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

export interface Options {
  /** Signs requests to a custom domain for IAM; those to AWS's own names are signed anyway. */
  region?: string;
  /** Returns the JWT of each request of the tenants' API. */
  token?: () => string | Promise<string>;
  /** What requests are signed with: by default the environment, or the AWS SDK's chain. */
  credentials?: () => Credentials | Promise<Credentials>;
  /** How long an answer is waited for: 1,000 to 40,000, 15,000 by default. */
  requestTimeoutMs?: number;
  /** The wait before the first repeat, and what it grows to: 100 and 10,000 by default. */
  minBackoffMs?: number;
  maxBackoffMs?: number;
  /** How long a put takes: 1,000 to 86,400,000, 60,000 by default. */
  giveUpAfterMs?: number;
}

/** The API at a URL. */
export class Client {
  constructor(url: string, options?: Options);

  /**
   * Puts messages, and returns the result of each in their order. Requests have up to 500 messages
   * and go one after the other, the messages of a queue in their order. A request or message that
   * may pass later (no token, no answer, 401, 403, 404, 408, 429, 5xx) is repeated under the same
   * seq, key or id, with growing waits, for giveUpAfterMs. A message without seq, key and id gets
   * an id. Throws a PutError where some fail, and another error where nothing was sent.
   */
  put(messages: Iterable<PutMessage>): Promise<Result[]>;
}
