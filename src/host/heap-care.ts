import v8 from 'node:v8';
import vm from 'node:vm';

/**
 * Between two looks, and between two collections that we ask for unless much has grown since, in
 * milliseconds.
 */
const lookMillis = 100;
const collectMillis = 5_000;

/**
 * Watches the heap of this thread between turns. What a module keeps over its calls grows slowly
 * and belongs to no call: when it passes the limit, the thread ends and the database is opened
 * again, with nothing lost. What one call takes is the watchdog's matter.
 */
export class HeapCare {
  readonly #bytesMax: number;
  readonly #collect = collector();
  #lookedAt = 0;
  #collectedAt = Number.NEGATIVE_INFINITY;
  /** What the last collection left. */
  #collectedBytes = 0;

  constructor(mebibytesMax: number) {
    this.#bytesMax = mebibytesMax * 1024 * 1024;
  }

  /** True when what is reachable is over the limit. Cheap when asked often. */
  isOver(): boolean {
    const now = performance.now();
    if (now < this.#lookedAt + lookMillis) return false;
    this.#lookedAt = now;
    const used = usedBytes();
    if (used <= this.#bytesMax) return false;
    const isRecent = now < this.#collectedAt + collectMillis;
    if (isRecent && used < this.#collectedBytes + this.#bytesMax / 4) return false;
    this.#collect();
    this.#collectedAt = performance.now();
    this.#collectedBytes = usedBytes();
    return this.#collectedBytes > this.#bytesMax;
  }
}

function usedBytes(): number {
  return v8.getHeapStatistics().used_heap_size;
}

/** A function that collects garbage; programs never see it, for it is made before their realms. */
function collector(): () => void {
  v8.setFlagsFromString('--expose-gc');
  const collect = vm.runInNewContext('gc') as () => void;
  v8.setFlagsFromString('--no-expose-gc');
  return collect;
}
