import { type GraphLinks, linksMax } from './graph-links.ts';

/** Removes links that only one of two nodes has, links to what is no node, and repeated ones. */
export function keepMutualLinks(
  links: GraphLinks,
  nodeEnd: number,
  isNode: (node: number) => boolean,
): void {
  const list = new Int32Array(linksMax);
  for (let node = 0; node < nodeEnd; node++) {
    if (!isNode(node)) continue;
    for (let level = links.levelOf(node); level >= 0; level--) {
      const count = links.read(node, level, list);
      links.clear(node, level);
      for (let at = 0; at < count; at++) {
        const other = list[at] as number;
        const isMutual =
          other !== node &&
          isNode(other) &&
          links.levelOf(other) >= level &&
          links.has(other, level, node) &&
          !links.has(node, level, other);
        if (isMutual) links.push(node, level, other);
      }
    }
  }
}

/**
 * Takes the links of all nodes that cannot be reached, on level 0, from most of the others, and
 * returns these nodes.
 */
export function keepLargestPart(
  links: GraphLinks,
  nodeEnd: number,
  isNode: (node: number) => boolean,
): number[] {
  const parts = new Int32Array(nodeEnd);
  const sizes = [0];
  for (let node = 0; node < nodeEnd; node++) {
    if (isNode(node) && parts[node] === 0) {
      sizes.push(markPart(links, node, { parts, part: sizes.length }));
    }
  }
  const largest = sizes.indexOf(Math.max(...sizes.slice(0, partsMax)));
  const lost: number[] = [];
  const list = new Int32Array(linksMax);
  for (let node = 0; node < nodeEnd; node++) {
    if (!isNode(node) || parts[node] === largest) continue;
    lost.push(node);
    for (let level = links.levelOf(node); level >= 0; level--) {
      const count = links.read(node, level, list);
      for (let at = 0; at < count; at++) links.unlink(node, level, list[at] as number);
    }
    links.close(node);
  }
  return lost;
}

/** Parts that are compared: what is whole has one, and what is not is built again. */
const partsMax = 10_000;

/** Marks the nodes that can be reached from one, and returns their number. */
function markPart(
  links: GraphLinks,
  first: number,
  { parts, part }: { readonly parts: Int32Array; readonly part: number },
): number {
  const list = new Int32Array(linksMax);
  const open = [first];
  parts[first] = part;
  let size = 0;
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    size++;
    const count = links.read(node, 0, list);
    for (let at = 0; at < count; at++) {
      const other = list[at] as number;
      if (parts[other] !== 0) continue;
      parts[other] = part;
      open.push(other);
    }
  }
  return size;
}
