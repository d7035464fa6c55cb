import { logLevels, transactionEnds, transactionKinds } from '../protocol/module-abi.ts';
import { isPromise } from './answer.ts';
import type { Bridge } from './bridge.ts';
import { errors } from './errors.ts';

/** What one run of a body came to, or why its commit was refused. */
type Attempt<Result> = { readonly result: Result } | { readonly refused: Error };

/** The transactions of procedures, each of a call. `timestamp`: its own, in microseconds. */
export class Transactions {
  readonly #bridge: Bridge;

  constructor(bridge: Bridge) {
    this.#bridge = bridge;
  }

  /** Runs `body` in a transaction and commits; once more, if the commit is refused. */
  write<Result>(call: number, body: (timestamp: bigint) => Result): Result {
    const first = this.#attempt(call, body);
    if ('result' in first) return first.result;
    this.#bridge.sys.log(logLevels.warn, 'committing anonymous transaction failed');
    const second = this.#attempt(call, body);
    if ('result' in second) return second.result;
    throw new Error('transaction retry failed again', { cause: second.refused });
  }

  /** Runs `body` over the rows of one moment. */
  read<Result>(call: number, body: (timestamp: bigint) => Result): Result {
    const result = this.#within(call, 'read', body);
    const code = this.#bridge.sys.end(transactionEnds.commit);
    if (code < 0) throw this.#bridge.failure(code);
    return result;
  }

  #attempt<Result>(call: number, body: (timestamp: bigint) => Result): Attempt<Result> {
    const { sys } = this.#bridge;
    const result = this.#within(call, 'withTx', body);
    const code = sys.end(transactionEnds.commit);
    return code < 0 ? { refused: this.#bridge.failure(code) } : { result };
  }

  /** Leaves the transaction open if the body returns. */
  #within<Result>(
    call: number,
    name: 'withTx' | 'read',
    body: (timestamp: bigint) => Result,
  ): Result {
    const { sys } = this.#bridge;
    this.#bridge.guard();
    const kind = name === 'read' ? transactionKinds.read : transactionKinds.write;
    const begun = sys.begin(kind, call);
    if (begun < 0n) throw this.#bridge.failure(Number(begun));
    try {
      const result = body(begun);
      if (isPromise(result)) {
        throw new TypeError(`The body of \`${name}\` returned a promise: it must be synchronous.`);
      }
      return result;
    } catch (error) {
      const code = sys.end(transactionEnds.abort);
      // A read that was stopped refuses each access, and says why at its end.
      if (code < 0 && error instanceof errors.HostCallFailure) throw this.#bridge.failure(code);
      throw error;
    }
  }
}
