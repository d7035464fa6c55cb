import type { AnyNode } from 'acorn';

/**
 * Kept on the node itself: with a map of that size, garbage collection takes a third of linking.
 */
const kept = Symbol('children');

const none: readonly AnyNode[] = [];

/**
 * The nodes below `node`, in the order of the text. Those of the most frequent kinds are named
 * here: to look for them in all properties, and to keep what was found, takes longer than a parse.
 */
export function childrenOf(node: AnyNode): readonly AnyNode[] {
  switch (node.type) {
    case 'Identifier':
    case 'Literal':
    case 'ThisExpression':
      return none;
    case 'MemberExpression':
      return [node.object, node.property];
    case 'ExpressionStatement':
      return [node.expression];
    case 'CallExpression':
      return [node.callee, ...node.arguments];
    case 'BlockStatement':
    case 'Program':
      return node.body;
    case 'VariableDeclaration':
      return node.declarations;
    case 'VariableDeclarator':
      return node.init ? [node.id, node.init] : [node.id];
    case 'ReturnStatement':
      return node.argument ? [node.argument] : none;
    case 'BinaryExpression':
    case 'LogicalExpression':
    case 'AssignmentExpression':
      return [node.left, node.right];
    case 'UnaryExpression':
      return [node.argument];
    case 'ObjectExpression':
      return node.properties;
    case 'Property':
      // Of a short one, key and value are the same text; the value has more detail.
      return node.shorthand ? [node.value] : [node.key, node.value];
    default:
      return keptChildren(node);
  }
}

function keptChildren(node: AnyNode): readonly AnyNode[] {
  const known: AnyNode & { [kept]?: readonly AnyNode[] } = node;
  known[kept] ??= findChildren(node);
  return known[kept];
}

/** `childrenOf` by looking at every property. */
export function findChildren(node: AnyNode): readonly AnyNode[] {
  const children: AnyNode[] = [];
  for (const key in node) {
    const value = (node as unknown as Record<string, unknown>)[key];
    if (Array.isArray(value)) {
      for (const element of value) if (isNode(element)) children.push(element);
    } else if (isNode(value)) {
      children.push(value);
    }
  }
  const isShorthand = node.type === 'Property' && node.shorthand;
  if (isShorthand) return [node.value];
  const isInOrder = children.every(({ start }, at) => start >= (children[at - 1]?.start ?? 0));
  return isInOrder ? children : children.sort((a, b) => a.start - b.start);
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}
