import { connect, type RowChange, type TableRow } from 'reducerdb/client';
import type * as stock from '../src/index.ts';

export type Product = TableRow<typeof stock, 'product'>;

/** Somebody else who has the stock on a screen: a client of its own, which is told of each change. */
export class Onlooker {
  readonly changes: RowChange<Product>[] = [];
  readonly #close: () => void;
  #told: (() => void) | undefined;

  private constructor(close: () => void) {
    this.#close = close;
  }

  /** Resolves once the rows are there: from then on nothing is missed. */
  static async watch(uri: string, database: string): Promise<Onlooker> {
    const client = connect<typeof stock>({ uri, database });
    const onlooker = new Onlooker(() => client.disconnect());
    const products = client.watch((from) => from.product);
    products.onChange((changes) => {
      onlooker.changes.push(...changes);
      onlooker.#told?.();
    });
    products.subscribe(() => {});
    await products.ready();
    onlooker.changes.length = 0;
    return onlooker;
  }

  /** The first change that has come, or will come. */
  async firstChange(): Promise<RowChange<Product>> {
    for (;;) {
      const [first] = this.changes;
      if (first !== undefined) return first;
      await new Promise<void>((resolve) => {
        this.#told = resolve;
      });
    }
  }

  close(): void {
    this.#close();
  }
}
