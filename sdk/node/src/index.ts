import { Operations, type FeedEvent, type ListEventsParams, type ListSessionsParams, type SessionItem } from "./generated.js";
import type { CallOptions } from "./client.js";

export { CandorConnectionError, CandorError, type CallOptions, type CandorFile, type PostOptions, type Settings } from "./client.js";
export { CandorSignatureError, Webhooks, type Webhook, type WebhookHeaders } from "./webhooks.js";
export type * from "./generated.js";

/** Events after the last one that you have are no longer kept. */
export class CandorGapError extends Error {
  override name = "CandorGapError";

  constructor(readonly after: number, readonly oldest: number) {
    super(`The events from ${after + 1} to ${oldest - 1} are no longer kept.`);
  }
}

/**
 * A client of Candor's API, with a method for each operation of its reference. It sends a request again that can
 * succeed later: after a broken connection, 408, 429, 5xx, while a PDF is being made, or a request with the same
 * idempotency key runs. It waits as long as Retry-After says, else for a time that doubles. All tries of a POST have
 * the same Idempotency-Key, so nothing is done twice.
 */
export class Candor extends Operations {
  /**
   * Lists the sessions of every page, the newest first. It misses none and has none twice, though sessions are created
   * or change while it runs: it asks for those before the last one that it has, not for numbered pages.
   */
  async *allSessions(query: ListSessionsParams = {}, options: CallOptions = {}): AsyncGenerator<SessionItem, void, undefined> {
    const params = { per_page: 100, ...query, page: 1 };
    let at = "";
    const seen = new Set<string>(); // of those that were created at that time
    for (;;) {
      const { data, pagination } = await this.listSessions(params, options);
      for (const one of data) {
        if (one.created_at !== at) {
          at = one.created_at;
          seen.clear();
        }
        if (!seen.has(one.id)) yield one;
        seen.add(one.id);
      }
      if (pagination.page >= pagination.total_pages) return;
      // Times in answers have whole milliseconds, so this has all of the last one.
      const before = new Date(Date.parse(at) + 1);
      if (params.created_before === undefined || before < new Date(params.created_before)) {
        params.created_before = before;
        params.page = 1;
      } else params.page++;
    }
  }

  /**
   * Follows the feed of events without an end: it has each event after `after` in its order, once, and waits for the
   * next. It ends by `signal`, or with an error that retries don't overcome; start it again with the sequence of your
   * last event as `after`.
   */
  async *events(query: ListEventsParams = {}, options: CallOptions = {}): AsyncGenerator<FeedEvent, never, undefined> {
    for (let after = query.after ?? 0; ; ) {
      const page = await this.listEvents({ ...query, after, limit: 100, wait: 25 }, options);
      if (after > 0 && page.oldest_sequence !== null && page.oldest_sequence > after + 1) throw new CandorGapError(after, page.oldest_sequence);
      yield* page.data;
      after = page.next_after;
    }
  }
}

/** A number of dollars of the API as whole cents, exactly. Count in cents: 0.1 + 0.2 dollars aren't 0.3 dollars. */
export function cents(dollars: number): number {
  const out = Math.round(dollars * 100);
  if (!Number.isSafeInteger(out)) throw new RangeError(`candor: ${dollars} has no exact cents`);
  return out;
}
