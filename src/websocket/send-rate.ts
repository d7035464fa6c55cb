import { limits } from '../limits.ts';

/** How many bytes a client was sent of late. What is sent costs an addition. */
export class SendRate {
  #bytes = 0;
  #markBytes = 0;
  #markAt: number;
  #perSecond = 0;

  constructor(nowMillis: number) {
    this.#markAt = nowMillis;
  }

  sent(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Called now and then, so that what is long past does not count. */
  tick(nowMillis: number): void {
    if (nowMillis - this.#markAt < limits.sendRateMillis) return;
    this.#perSecond = this.#since(nowMillis);
    this.#markBytes = this.#bytes;
    this.#markAt = nowMillis;
  }

  /** Of the last seconds: those since the last mark, once they say enough. */
  perSecond(nowMillis: number): number {
    const isEnough = nowMillis - this.#markAt >= limits.sendRateMillis / 5;
    return Math.round(isEnough ? this.#since(nowMillis) : this.#perSecond);
  }

  #since(nowMillis: number): number {
    return (1_000 * (this.#bytes - this.#markBytes)) / Math.max(1, nowMillis - this.#markAt);
  }
}
