/**
 * One end of a range.
 *
 * @example
 * ```ts
 * const from: Bound<number> = { tag: 'included', value: 3 };
 * ```
 */
export type Bound<Value> =
  | { readonly tag: 'included'; readonly value: Value }
  | { readonly tag: 'excluded'; readonly value: Value }
  | { readonly tag: 'unbounded' };

const unbounded = { tag: 'unbounded' } as const;

/**
 * The values between two bounds, for `filter` and `delete` of an ordered index. A missing bound is
 * open.
 *
 * @example
 * ```ts
 * const recent = new Range<Timestamp>({ tag: 'excluded', value: lastSeen });
 * for (const line of ctx.db.line.byRoom.filter(['hall', recent])) console.log(line.text);
 * ```
 */
export class Range<Value> {
  readonly #from: Bound<Value>;
  readonly #to: Bound<Value>;

  constructor(from?: Bound<Value> | null, to?: Bound<Value> | null) {
    this.#from = from ?? unbounded;
    this.#to = to ?? unbounded;
  }

  get from(): Bound<Value> {
    return this.#from;
  }

  get to(): Bound<Value> {
    return this.#to;
  }
}
