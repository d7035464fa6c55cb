import { unreachable } from '../../assert.ts';
import { HostCalls, type Scratch } from '../../module/host-calls.ts';
import { type DataOp, dataOps } from '../../module/lane.ts';
import type { Store } from '../../store/store.ts';
import type { DataServer } from './lane-desk.ts';

/** The data calls of one transaction of a lane, which brings a scratch of its own. */
export class LaneData {
  readonly calls: HostCalls;
  #scratch: Scratch = noScratch;

  constructor(store: Store) {
    const scratch = (): Scratch => this.#scratch;
    this.calls = new HostCalls(store, {
      get bytes() {
        return scratch().bytes;
      },
      grow: (minBytes) => scratch().grow(minBytes),
    });
  }

  readonly serve: DataServer = (op, a, b, c, d, e, scratch) => {
    this.#scratch = scratch;
    try {
      return this.#call(op, a, b, c, d, e);
    } finally {
      this.#scratch = noScratch;
    }
  };

  #call(op: DataOp, a: number, b: number, c: number, d: number, e: number): number {
    const { calls } = this;
    const range = { prefixColumns: b, prefixLength: c, startLength: d, endLength: e };
    switch (op) {
      case dataOps.tableId:
        return calls.tableId(this.#text(a));
      case dataOps.indexId:
        return calls.indexId(this.#text(a));
      case dataOps.rowCount:
        return calls.rowCount(a);
      case dataOps.insert:
        return calls.insert(a, b);
      case dataOps.update:
        return calls.update(a, b, c);
      case dataOps.deleteEqual:
        return calls.deleteEqual(a, b);
      case dataOps.find:
        return calls.find(a, b);
      case dataOps.scan:
        return calls.scan(a);
      case dataOps.scanPoint:
        return calls.scanPoint(a, b);
      case dataOps.scanRange:
        return calls.scanRange(a, range);
      case dataOps.next:
        return calls.next(a);
      case dataOps.close:
        return calls.close(a);
      case dataOps.deletePoint:
        return calls.deletePoint(a, b);
      case dataOps.deleteRange:
        return calls.deleteRange(a, range);
      case dataOps.clear:
        return calls.clear(a);
      case dataOps.violation:
        return this.#violation();
      default:
        return unreachable(op);
    }
  }

  /** A name that the lane has put into the scratch; any bytes can be there. */
  #text(byteCount: number): string {
    return new TextDecoder().decode(this.#scratch.bytes.subarray(0, Math.max(0, byteCount)));
  }

  #violation(): number {
    const text = new TextEncoder().encode(this.calls.violation());
    if (text.length > this.#scratch.bytes.length) this.#scratch.grow(text.length);
    this.#scratch.bytes.set(text);
    return text.length;
  }
}

const noScratch: Scratch = { bytes: new Uint8Array(0), grow: () => undefined };
