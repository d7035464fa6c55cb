/** Time of a simulation: it stands still until somebody lets it go by. */
export class SteadyClock {
  #now = 0;
  #number = 0;
  readonly #heap: HeapEvent[] = [];

  now(): number {
    return this.#now;
  }

  after(millis: number, work: () => void): void {
    this.#number++;
    this.#push({ at: this.#now + Math.max(0, millis), number: this.#number, work });
  }

  pause(millis: number): Promise<void> {
    return new Promise((resolve) => this.after(millis, resolve));
  }

  /** Lets `millis` go by; all that follows from an event happens before the next one. */
  async pass(millis: number): Promise<void> {
    const end = this.#now + millis;
    await settled();
    for (let next = this.#heap[0]; next !== undefined && next.at <= end; next = this.#heap[0]) {
      this.#now = next.at;
      this.#pop();
      next.work();
      await settled();
    }
    this.#now = end;
  }

  #push(event: HeapEvent): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent] as HeapEvent)) break;
      heap[at] = heap[parent] as HeapEvent;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as HeapEvent;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (
        child + 1 < heap.length &&
        isBefore(heap[child + 1] as HeapEvent, heap[child] as HeapEvent)
      )
        child++;
      if (!isBefore(heap[child] as HeapEvent, last)) break;
      heap[at] = heap[child] as HeapEvent;
      at = child;
    }
    heap[at] = last;
  }
}

interface HeapEvent {
  readonly at: number;
  readonly number: number;
  readonly work: () => void;
}

function isBefore(one: HeapEvent, other: HeapEvent): boolean {
  return one.at < other.at || (one.at === other.at && one.number < other.number);
}

/** Resolves when every promise that could go on has done so. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
