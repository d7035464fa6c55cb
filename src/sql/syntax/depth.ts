import { limits } from '../../limits.ts';
import { invalid, recursionLimit } from '../failure.ts';
import type { Statement } from './ast.ts';

/** Deepest expression of the typed check, counted as if every AND and OR had two operands. */
const typedDepthMax = 2_500;

interface OpenNode {
  readonly node: unknown;
  readonly depth: number;
  readonly typedDepth: number;
}

/**
 * Refuses a tree that is deeper than `limits.sqlDepthMax`, so that every later stage can recurse
 * over it. The parser itself reads chains in loops; this walk does not recurse either.
 */
export function refuseDeepTree(statement: Statement): void {
  const open: OpenNode[] = [{ node: statement, depth: 1, typedDepth: 1 }];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { node, depth, typedDepth } = place;
    if (typeof node !== 'object' || node === null) continue;
    if (depth > limits.sqlDepthMax) throw invalid(recursionLimit('parse'));
    if (typedDepth > typedDepthMax) throw invalid(recursionLimit('type'));
    if (Array.isArray(node)) {
      for (const child of node) open.push({ node: child, depth, typedDepth });
    } else if (isChain(node)) {
      pushTerms(open, node.terms, place);
    } else {
      const step = 'kind' in node ? 1 : 0;
      for (const child of Object.values(node)) {
        open.push({ node: child, depth: depth + step, typedDepth: typedDepth + step });
      }
    }
  }
}

function isChain(node: object): node is { readonly terms: readonly unknown[] } {
  return 'terms' in node && Array.isArray(node.terms);
}

/** The first two terms are equally deep: a chain of operators with two operands leans left. */
function pushTerms(
  open: OpenNode[],
  terms: readonly unknown[],
  { depth, typedDepth }: OpenNode,
): void {
  const deepest = typedDepth + terms.length - 1;
  for (const [at, node] of terms.entries()) {
    open.push({ node, depth: depth + 1, typedDepth: deepest - Math.max(0, at - 1) });
  }
}
