import { describe, expect, it } from 'vitest';
import { GraphLinks, linksMax } from './graph-links.ts';
import { keepLargestPart, keepMutualLinks } from './mend-links.ts';

function graphOf(levels: readonly number[]): GraphLinks {
  const links = new GraphLinks();
  for (const [node, level] of levels.entries()) links.open(node, level);
  return links;
}

function linksOf(links: GraphLinks, node: number, level = 0): number[] {
  const list = new Int32Array(linksMax);
  return [...list.subarray(0, links.read(node, level, list))].sort();
}

describe('[history 2.33] links of a loaded graph', () => {
  it('are those that both nodes have, each once, between nodes of the level', () => {
    const links = graphOf([1, 1, 0, 0]);
    links.link(0, 0, 1);
    links.link(0, 0, 2);
    links.push(1, 0, 2);
    links.push(1, 0, 0);
    links.push(2, 0, 2);
    links.push(2, 0, 3);
    links.push(3, 0, 2);
    links.link(0, 1, 1);
    links.push(1, 1, 2);
    keepMutualLinks(links, 4, (node) => node !== 3);
    expect([0, 1, 2].map((node) => linksOf(links, node))).toEqual([[1, 2], [0], [0]]);
    expect([0, 1].map((node) => linksOf(links, node, 1))).toEqual([[1], [0]]);
  });

  it('lead to all nodes: those apart from most of them have none', () => {
    const links = graphOf([0, 1, 0, 1, 0, 0]);
    links.link(0, 0, 1);
    links.link(1, 0, 2);
    links.link(3, 0, 4);
    links.link(1, 1, 3);
    expect(keepLargestPart(links, 6, () => true)).toEqual([3, 4, 5]);
    expect([0, 1, 2].map((node) => linksOf(links, node))).toEqual([[1], [0, 2], [1]]);
    expect(linksOf(links, 1, 1)).toEqual([]);
    expect(links.levelOf(3)).toBe(0);
  });

  it('of no node are none', () => {
    expect(keepLargestPart(graphOf([0]), 1, () => false)).toEqual([]);
  });
});
