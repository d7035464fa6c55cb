import type { AnyNode } from 'acorn';

/**
 * How much one operation can allocate at once, without its operands, in units of the longest number
 * (128 MiB); a list, or the result of a built-in, can have 256 MiB. An operation on values that can
 * only be ordinary numbers allocates nothing.
 */
export function weightOf(node: AnyNode): number {
  switch (node.type) {
    case 'BinaryExpression':
      if (!makers.has(node.operator)) return 0;
      return isPlain(node.left) || isPlain(node.right) ? 0 : 1;
    case 'AssignmentExpression':
      if (!makers.has(node.operator.slice(0, -1))) return 0;
      return isPlain(node.right) ? 0 : 1;
    case 'UnaryExpression':
      if (node.operator !== '-' && node.operator !== '+' && node.operator !== '~') return 0;
      return isPlain(node.argument) ? 0 : 1;
    case 'UpdateExpression':
      return 1;
    case 'TemplateLiteral':
      return node.expressions.length > 0 ? 1 : 0;
    case 'ArrayExpression':
      return 2 * node.elements.filter((element) => element?.type === 'SpreadElement').length;
    case 'ObjectExpression':
      return 2 * node.properties.filter(({ type }) => type === 'SpreadElement').length;
    case 'ArrayPattern':
      return node.elements.some((element) => element?.type === 'RestElement') ? 2 : 0;
    case 'CallExpression':
    case 'NewExpression':
      return 2 + 2 * node.arguments.filter(({ type }) => type === 'SpreadElement').length;
    case 'TaggedTemplateExpression':
      return 2;
    default:
      return 0;
  }
}

/** A comparison joins long strings from their parts. */
const makers: ReadonlySet<string> = new Set(
  '+ - * / % ** << >> & | ^ < > <= >= == != === !=='.split(' '),
);

const depthMax = 4;

/** True if it surely is a number that is not a `bigint`, or a short constant. */
function isPlain(node: AnyNode, depth = 0): boolean {
  if (depth > depthMax) return false;
  switch (node.type) {
    case 'Literal':
      return typeof node.value !== 'string' && node.bigint === undefined;
    case 'UnaryExpression':
      if (node.operator === '-' || node.operator === '~') return isPlain(node.argument, depth + 1);
      return true;
    case 'BinaryExpression': {
      if (node.operator === '>>>') return true;
      if (!makers.has(node.operator)) return true;
      const [left, right] = [isPlain(node.left, depth + 1), isPlain(node.right, depth + 1)];
      return node.operator === '+' ? left && right : left || right;
    }
    default:
      return false;
  }
}
