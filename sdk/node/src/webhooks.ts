import { createHmac, timingSafeEqual } from "node:crypto";
import type { WebhookEvent } from "./generated.js";

/** A verified webhook. */
export type Webhook = WebhookEvent & {
  /** The same each time it is sent: drop one that you have had. */
  delivery_id: string;
};

/** The headers of a request: Node's, or those of fetch. */
export type WebhookHeaders = Record<string, string | string[] | undefined> | { get(name: string): string | null };

/** The webhook isn't from Candor, or not from now. Answer 401. */
export class CandorSignatureError extends Error {
  override name = "CandorSignatureError";
}

/** Verifies webhooks. */
export class Webhooks {
  readonly #keys: Buffer[];
  readonly #tolerance: number;

  /**
   * @param secrets The webhook secret, whsec_…, or while you change it both.
   * @param tolerance Seconds between the webhook's time and now.
   */
  constructor(secrets: string | undefined | Array<string>, { tolerance = 300 } = {}) {
    this.#keys = [secrets].flat().map((secret) => {
      const key = Buffer.from(/^whsec_([0-9A-Za-z+/]+={0,2})$/.exec(secret ?? "")?.[1] ?? "", "base64");
      if (key.length < 24) throw new TypeError("candor: a webhook secret must be whsec_… as the dashboard shows it");
      return key;
    });
    if (this.#keys.length === 0) throw new TypeError("candor: a webhook secret is missing");
    this.#tolerance = tolerance;
  }

  /**
   * Verifies a webhook by its headers and its body as it came, before anything parses it.
   *
   * @throws {CandorSignatureError} if no signature fits
   */
  verify(headers: WebhookHeaders, body: string | Uint8Array): Webhook {
    const id = header(headers, "webhook-id");
    const sent = header(headers, "webhook-timestamp");
    if (!/^[0-9]{1,12}$/.test(sent) || Math.abs(Date.now() / 1000 - Number(sent)) > this.#tolerance) {
      throw new CandorSignatureError(`The webhook's time is more than ${this.#tolerance} seconds off.`);
    }
    const given = header(headers, "webhook-signature").split(" ").map((text) => Buffer.from(text));
    let fits = false;
    for (const key of this.#keys) {
      const wanted = Buffer.from("v1," + createHmac("sha256", key).update(`${id}.${sent}.`).update(body).digest("base64"));
      for (const one of given) if (one.length === wanted.length && timingSafeEqual(one, wanted)) fits = true;
    }
    if (!fits) throw new CandorSignatureError("The webhook's signature doesn't fit.");
    return { ...JSON.parse(typeof body === "string" ? body : Buffer.from(body).toString()), delivery_id: id };
  }
}

function header(headers: WebhookHeaders, name: string): string {
  if (typeof headers.get === "function") return headers.get(name) ?? "";
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() === name) return String(value ?? "");
  }
  return "";
}
