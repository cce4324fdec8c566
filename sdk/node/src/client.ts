import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ErrorBody, ErrorCode, FieldError } from "./generated.js";

/** How a client calls the API. */
export interface Settings {
  /** Candor's address, such as https://candor.example, with or without /v1. */
  url: string | undefined;
  /** An API key. It stays on your servers. */
  key: string | undefined;
  /** Retries of a request after its first try; 5 by default. */
  retries?: number;
  /** Milliseconds before the first retry, doubled for each further one up to half a minute; 500 by default. */
  backoff?: number;
  /** Milliseconds of a try, until JSON is read or a file begins; more than 25,000, 60,000 by default. */
  timeout?: number;
}

export interface CallOptions {
  /** Ends the call, its retries, and the download of a file. */
  signal?: AbortSignal | undefined;
}

export interface PostOptions extends CallOptions {
  /**
   * Names what the request does, such as your application's id: for 24 hours the same key gets the same answer, also
   * from another process. Without it the call makes a key of its own.
   */
  idempotencyKey?: string | undefined;
}

/** A file of the API. Reading it fails if it was cut short. */
export interface CandorFile {
  /** Without a folder. A customer can have chosen it. */
  name: string;
  contentType: string;
  /** In bytes, undefined if it isn't known. */
  size: number | undefined;
  /** The bytes, to be read once: `await writeFile(name, file.body)`. */
  body: AsyncIterable<Uint8Array>;
}

interface Call extends PostOptions {
  method: string;
  path: string[];
  query?: Record<string, unknown>;
  body?: unknown;
  file?: boolean;
  keyless?: boolean;
}

/** How long a file that is being made is asked for, in ms, however often. */
const patience = 60_000;

/** An answer of the API that isn't a success. Tell errors apart by code, then by status; messages can change. */
export class CandorError extends Error {
  override name = "CandorError";
  readonly status: number;
  /** undefined if the answer isn't from the API, but from a proxy before it. */
  readonly code: ErrorCode | undefined;
  readonly docUrl: string | undefined;
  /** Name it when you ask about the request. */
  readonly requestId: string | undefined;
  /** What is wrong with which field. */
  readonly fields: FieldError[];
  /** Seconds to wait, 0 if the answer has none. */
  readonly retryAfter: number;

  constructor(response: Response, text: string) {
    const error = parse(text)?.error;
    super(error?.message ?? "The answer isn’t from Candor’s API. Is its address right?");
    this.status = response.status;
    this.code = error?.code;
    this.docUrl = error?.doc_url;
    this.requestId = response.headers.get("X-Request-Id") ?? undefined;
    this.fields = error?.details?.errors ?? [];
    this.retryAfter = Number(response.headers.get("Retry-After")) || 0;
  }

  /** Whether the same request can succeed later. */
  get temporary(): boolean {
    return [202, 408, 429].includes(this.status) || this.status >= 500 || this.code === "idempotency_in_progress";
  }
}

function parse(text: string): Partial<ErrorBody> | undefined {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}

/** The connection broke, or there was no answer in time. `cause` has why. */
export class CandorConnectionError extends Error {
  override name = "CandorConnectionError";
}

/** Sends requests, and sends those again that can succeed later. */
export class Client {
  /** @internal */
  protected readonly version: string = "";
  readonly #settings: Required<Settings> & { url: string; key: string };

  constructor({ url, key, retries = 5, backoff = 500, timeout = 60_000 }: Settings) {
    if (!url || !/^https?:/.test(url)) throw new TypeError("candor: url must be Candor's address, https://…");
    if (!key || /\s/.test(key)) throw new TypeError("candor: key must be an API key, candor_…");
    this.#settings = { url: url.replace(/\/+$/, "").replace(/\/v1$/, "") + "/v1", key, retries, backoff, timeout };
  }

  /** @internal */
  protected json<T>(call: Call): Promise<T> {
    return this.#send(call, async (response) => {
      const text = await response.text();
      if (!response.ok) throw new CandorError(response, text);
      const answer = parse(text);
      if (answer === undefined) throw new CandorError(response, text);
      return answer as T;
    });
  }

  /** @internal */
  protected file(call: Call): Promise<CandorFile> {
    return this.#send({ ...call, file: true }, async (response) => {
      if (response.status !== 200 || response.body === null) throw new CandorError(response, await response.text());
      const length = response.headers.get("Content-Length");
      return {
        name: fileName(response.headers.get("Content-Disposition") ?? ""),
        contentType: response.headers.get("Content-Type") ?? "",
        size: length === null ? undefined : Number(length),
        body: whole(response.body, call.signal),
      };
    });
  }

  async #send<T>(call: Call, read: (response: Response) => Promise<T>): Promise<T> {
    const { retries, backoff } = this.#settings;
    const key = call.idempotencyKey ?? (call.keyless ? undefined : randomUUID());
    const began = Date.now();
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#try(call, key, read);
      } catch (error) {
        const making = error instanceof CandorError && error.status === 202 && error.retryAfter > 0 && retries > 0 && Date.now() - began < patience;
        if ((attempt >= retries && !making) || call.signal?.aborted) throw error;
        let wait = making ? 0 : Math.min(backoff * 2 ** attempt, 30_000) * (0.5 + Math.random() / 2);
        if (error instanceof CandorError) {
          if (!error.temporary || error.retryAfter > 120) throw error;
          wait = Math.max(wait, 1000 * error.retryAfter);
        } else if (!(error instanceof CandorConnectionError)) throw error;
        await sleep(wait, undefined, call.signal ? { signal: call.signal } : {});
      }
    }
  }

  async #try<T>({ method, path, query = {}, body, file, signal }: Call, idempotencyKey: string | undefined, read: (response: Response) => Promise<T>): Promise<T> {
    const { url, key, timeout } = this.#settings;
    for (const segment of path) {
      if (typeof segment !== "string" || /^\.*$/.test(segment)) throw new TypeError(`candor: ${JSON.stringify(segment)} is no id`);
    }
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== null) search.set(name, value instanceof Date ? value.toISOString() : String(value));
    }
    const headers: Record<string, string> = { Authorization: `Bearer ${key}`, "User-Agent": `candor-node/${this.version}` };
    if (method !== "GET") headers["Content-Type"] = "application/json";
    if (method !== "GET" && idempotencyKey !== undefined) headers["Idempotency-Key"] = idempotencyKey;
    signal?.throwIfAborted();
    const limit = new AbortController();
    const stop = () => limit.abort(signal?.reason);
    signal?.addEventListener("abort", stop, { once: true });
    const timer = setTimeout(() => limit.abort(new Error(`no answer within ${timeout} ms`)), timeout);
    let open = false; // a file is read after this, and the signal ends that, too
    try {
      const response = await fetch(`${url}/${path.map(encodeURIComponent).join("/")}${search.size > 0 ? `?${search}` : ""}`, {
        method, headers, signal: limit.signal,
        redirect: "manual", // it could lead the key elsewhere
        body: body === undefined ? null : JSON.stringify(body),
      });
      const answer = await read(response);
      open = file === true;
      return answer;
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof CandorError) throw error;
      throw new CandorConnectionError("candor: the connection broke, or there was no answer in time", { cause: error });
    } finally {
      clearTimeout(timer);
      if (!open) signal?.removeEventListener("abort", stop);
    }
  }
}

/** A file's bytes, or why there are no more. */
async function* whole(body: ReadableStream<Uint8Array>, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    signal?.throwIfAborted();
    throw new CandorConnectionError("candor: the file broke off", { cause: error });
  }
}

/** The name in a Content-Disposition, without a folder. */
function fileName(header: string): string {
  let name = /filename="?([^";]*)/i.exec(header)?.[1] ?? "";
  const encoded = /filename\*=UTF-8''([^;\s]*)/i.exec(header)?.[1];
  try {
    if (encoded) name = decodeURIComponent(encoded);
  } catch {}
  name = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
  return /^\.*$/.test(name) ? "download" : name;
}
