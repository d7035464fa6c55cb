import type { AnyNode } from 'acorn';

/** The nodes below `node`, in the order of the text. */
export function childrenOf(node: AnyNode): readonly AnyNode[] {
  const children: AnyNode[] = [];
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) {
      for (const element of value) if (isNode(element)) children.push(element);
    } else if (isNode(value)) {
      children.push(value);
    }
  }
  const isShorthand = node.type === 'Property' && node.shorthand;
  // Both its key and its value are the same text; the value knows more.
  if (isShorthand) return [node.value];
  return children.length > 1 ? children.sort((a, b) => a.start - b.start) : children;
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}
