import v8 from 'node:v8';
import vm from 'node:vm';

/**
 * Interval between two checks, and between two collections that we request unless memory has grown
 * much since, in milliseconds.
 */
const lookMillis = 100;
const collectMillis = 5_000;

export interface HeapLimits {
  readonly heapBytesMax: number;
  /** Buffers, beyond those of the database itself. */
  readonly bufferBytesMax: number;
}

/** Memory of this thread that is not its module's, in bytes. */
export interface OtherMemory {
  /** In buffers of the database itself. */
  heldBytes(): number;
  /** Memory of statements under way, in the heap or in buffers. */
  statementBytes(): number;
}

/**
 * Watches the heap and the buffers of this thread between turns. What a module keeps across calls
 * grows slowly and belongs to no call: when it passes a limit, the thread ends and the database is
 * reopened, with nothing lost. The memory of one call is the watchdog's concern; that of statements
 * has bounds of its own.
 */
export class HeapCare {
  readonly #limits: HeapLimits;
  readonly #others: OtherMemory;
  readonly #collect = collector();
  #lookedAt = 0;
  #collectedAt = Number.NEGATIVE_INFINITY;
  /** Memory in use after the last collection. */
  #collected: Use = { heapBytes: 0, bufferBytes: 0 };

  constructor(limits: HeapLimits, others: OtherMemory) {
    this.#limits = limits;
    this.#others = others;
  }

  /** Returns which kind of reachable memory is over its limit. Cheap to call often. */
  over(): 'heap' | 'buffers' | undefined {
    const now = performance.now();
    if (now < this.#lookedAt + lookMillis) return undefined;
    this.#lookedAt = now;
    const use = this.#use();
    if (this.#beyond(use) === undefined) return undefined;
    const { heapBytesMax, bufferBytesMax } = this.#limits;
    const isRecent = now < this.#collectedAt + collectMillis;
    const hasGrown =
      use.heapBytes >= this.#collected.heapBytes + heapBytesMax / 4 ||
      use.bufferBytes >= this.#collected.bufferBytes + bufferBytesMax / 4;
    if (isRecent && !hasGrown) return undefined;
    this.#collect();
    this.#collected = this.#use();
    // Buffers without an owner are freed beside the program, and count until the next collection.
    if (this.#beyond(this.#collected) === 'buffers') {
      this.#collect();
      this.#collected = this.#use();
    }
    this.#collectedAt = performance.now();
    return this.#beyond(this.#collected);
  }

  #use(): Use {
    const { used_heap_size, external_memory } = v8.getHeapStatistics();
    const statementBytes = this.#others.statementBytes();
    return {
      heapBytes: used_heap_size - statementBytes,
      bufferBytes: external_memory - this.#others.heldBytes() - statementBytes,
    };
  }

  #beyond({ heapBytes, bufferBytes }: Use): 'heap' | 'buffers' | undefined {
    if (heapBytes > this.#limits.heapBytesMax) return 'heap';
    return bufferBytes > this.#limits.bufferBytesMax ? 'buffers' : undefined;
  }
}

interface Use {
  readonly heapBytes: number;
  readonly bufferBytes: number;
}

/**
 * Returns a function that collects garbage; programs never see it, because it is created before
 * their realms. The flag applies to the whole process: another thread that starts at the same
 * moment may have cleared it before it was used here, and then it is set again.
 */
function collector(): () => void {
  for (;;) {
    v8.setFlagsFromString('--expose-gc');
    const collect = vm.runInNewContext('globalThis.gc') as (() => void) | undefined;
    v8.setFlagsFromString('--no-expose-gc');
    if (collect !== undefined) return collect;
  }
}
