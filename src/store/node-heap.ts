/** A heap of nodes by distance: the nearest on top, or with `isFarFirst` the farthest. */
export class NodeHeap {
  readonly #sign: number;
  readonly #nodes: number[] = [];
  readonly #keys: number[] = [];

  constructor(isFarFirst: boolean) {
    this.#sign = isFarFirst ? -1 : 1;
  }

  get size(): number {
    return this.#nodes.length;
  }

  /** Of the node on top. */
  get distance(): number {
    return (this.#keys[0] as number) * this.#sign;
  }

  clear(): void {
    this.#nodes.length = 0;
    this.#keys.length = 0;
  }

  push(node: number, distance: number): void {
    const key = distance * this.#sign;
    const [nodes, keys] = [this.#nodes, this.#keys];
    let at = nodes.length;
    nodes.push(node);
    keys.push(key);
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!this.#isBefore(key, node, above)) break;
      nodes[at] = nodes[above] as number;
      keys[at] = keys[above] as number;
      at = above;
    }
    nodes[at] = node;
    keys[at] = key;
  }

  /** Removes the node on top, and returns it. */
  pop(): number {
    const [nodes, keys] = [this.#nodes, this.#keys];
    const top = nodes[0] as number;
    const node = nodes.pop() as number;
    const key = keys.pop() as number;
    const size = nodes.length;
    if (size === 0) return top;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= size) break;
      if (
        child + 1 < size &&
        this.#isBefore(keys[child + 1] as number, nodes[child + 1] as number, child)
      ) {
        child++;
      }
      if (this.#isBefore(key, node, child)) break;
      nodes[at] = nodes[child] as number;
      keys[at] = keys[child] as number;
      at = child;
    }
    nodes[at] = node;
    keys[at] = key;
    return top;
  }

  /** Equal distances are in the order of nodes, so that the same work gives the same graph. */
  #isBefore(key: number, node: number, place: number): boolean {
    const other = this.#keys[place] as number;
    return key < other || (key === other && node < (this.#nodes[place] as number));
  }
}
