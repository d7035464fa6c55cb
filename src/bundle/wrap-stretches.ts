import type { AnyNode, Program } from 'acorn';
import { limits } from '../limits.ts';
import { guardNames } from '../module/javascript/guard-names.ts';
import { weightOf } from './operation-weight.ts';
import { childrenOf } from './syntax-children.ts';
import type { Wrap } from './wrap-text.ts';

/**
 * Puts a pause into every long stretch of a program that the engine runs without a look at whether
 * it shall stop. It looks where a function begins and where a loop comes round, and nowhere else:
 * `[x + 1n, x + 1n, …]` with a number of 64 MiB ends the process before anybody can end the thread.
 *
 * The walk adds the weights of operations in the order of evaluation (see `operation-weight.ts`);
 * where ways part and meet, the heaviest point of any counts. When a stretch has
 * `limits.moduleStretchWeightMax`, the operation at hand is wrapped in a pause, and a new stretch
 * begins. A loop that has none inside may have one before it, so that it needs none.
 *
 * A short function, and a short loop, has no pause. One costs about three nanoseconds.
 */
export function wrapLongStretches(program: Program, wraps: Wrap[]): void {
  new Stretches(wraps).function(program);
}

class Stretches {
  readonly #wraps: Wrap[];
  /** Weight since the last pause, and the most that it was within the fork at hand. */
  #weight = 0;
  #peak = 0;

  constructor(wraps: Wrap[]) {
    this.#wraps = wraps;
  }

  /** A function begins with a look of the engine's, whatever is around it. */
  function(node: AnyNode): void {
    const [weight, peak] = [this.#weight, this.#peak];
    this.#weight = 0;
    this.#inOrder(node, false);
    this.#weight = weight;
    this.#peak = peak;
  }

  /** `isPlace`: more than the value of the node counts, so nothing can stand around it. */
  #walk(node: AnyNode, isPlace: boolean): void {
    if (functions.has(node.type)) {
      this.function(node);
      return;
    }
    if (forks.has(node.type)) this.#fork(node);
    else if (node.type === 'BinaryExpression') this.#chain(node);
    else this.#inOrder(node, isPlace);
    this.#add(node, isPlace);
  }

  #inOrder(node: AnyNode, isPlace: boolean): void {
    for (const child of childrenOf(node)) {
      if (isLoop(child) && lists.has(node.type)) this.#pauseBefore(child);
      this.#walk(child, isPlaceIn(node, child, isPlace));
    }
  }

  /** After it, the weight is that of its heaviest point: it may be left from anywhere. */
  #fork(node: AnyNode): void {
    const outer = this.#peak;
    this.#peak = this.#weight;
    const [first, ...ways] = childrenOf(node);
    if (first !== undefined) this.#walk(first, isPlaceIn(node, first, false));
    const isChoice = choices.has(node.type);
    const chosen = this.#weight;
    for (const way of ways) {
      this.#weight = isChoice ? chosen : this.#peak;
      this.#walk(way, isPlaceIn(node, way, false));
    }
    this.#weight = this.#peak;
    this.#peak = Math.max(outer, this.#peak);
  }

  /** A long sum is nested as deep as it is long: the left operands are taken in a loop. */
  #chain(node: AnyNode): void {
    const links: AnyNode[] = [];
    let first: AnyNode = node;
    for (; first.type === 'BinaryExpression'; first = first.left) links.push(first);
    this.#walk(first, false);
    for (let link = links.pop(); link?.type === 'BinaryExpression'; link = links.pop()) {
      this.#walk(link.right, false);
      if (link !== node) this.#add(link, false);
    }
  }

  #add(node: AnyNode, isPlace: boolean): void {
    const weight = weightOf(node);
    if (weight === 0 && node.type !== 'ChainExpression') return;
    this.#weight += weight;
    const isLong = this.#weight >= limits.moduleStretchWeightMax;
    if (isLong && !isPlace && node.type !== 'ArrayPattern') {
      this.#wraps.push({ node, name: guardNames.pause });
      this.#weight = 0;
    }
    this.#peak = Math.max(this.#peak, this.#weight);
  }

  #pauseBefore(loop: AnyNode): void {
    if (this.#weight === 0) return;
    if (this.#weight + totalWeight(loop) < limits.moduleStretchWeightMax) return;
    this.#wraps.push({ node: loop, name: guardNames.pause, isBefore: true });
    this.#weight = 0;
  }
}

function totalWeight(node: AnyNode): number {
  let total = 0;
  const pending = [node];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (functions.has(next.type)) continue;
    total += weightOf(next);
    if (total >= limits.moduleStretchWeightMax) return total;
    for (const child of childrenOf(next)) pending.push(child);
  }
  return total;
}

function isLoop(node: AnyNode): boolean {
  return loops.has(node.type) || (node.type === 'LabeledStatement' && isLoop(node.body));
}

/** What a parent needs beyond a value: who a method is called on, what is left out of a chain. */
function isPlaceIn(parent: AnyNode, child: AnyNode, isPlace: boolean): boolean {
  switch (parent.type) {
    case 'ChainExpression':
      return true;
    case 'CallExpression':
      return parent.callee === child && (isPlace || child.type === 'ChainExpression');
    case 'MemberExpression':
      return parent.object === child && isPlace;
    case 'TaggedTemplateExpression':
      return parent.tag === child || parent.quasi === child;
    case 'UnaryExpression':
      return parent.operator === 'delete';
    default:
      return false;
  }
}

const functions: ReadonlySet<string> = new Set([
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
]);

const loops: ReadonlySet<string> = new Set([
  'ForStatement',
  'ForInStatement',
  'ForOfStatement',
  'WhileStatement',
  'DoWhileStatement',
]);

/** Each way of these begins with what is common to them; none leads to another. */
const choices: ReadonlySet<string> = new Set(['IfStatement', 'ConditionalExpression']);

const forks: ReadonlySet<string> = new Set([
  ...loops,
  ...choices,
  'LogicalExpression',
  'AssignmentPattern',
  'SwitchStatement',
  'TryStatement',
  'LabeledStatement',
]);

/** Where one statement can be put before another. */
const lists: ReadonlySet<string> = new Set([
  'Program',
  'BlockStatement',
  'StaticBlock',
  'SwitchCase',
]);
