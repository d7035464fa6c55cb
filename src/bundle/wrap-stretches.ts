import type { AnyNode, Program } from 'acorn';
import { limits } from '../limits.ts';
import { guardNames } from '../module/javascript/guard-names.ts';
import { weightOf } from './operation-weight.ts';
import { childrenOf } from './syntax-children.ts';
import type { Wrap } from './wrap-text.ts';

/**
 * Puts a pause into every long stretch of a program that the engine runs without checking whether
 * to stop. It checks only at the start of a function and at each round of a loop: `[x + 1n, x + 1n,
 * …]` with a number of 64 MiB ends the process before the host can end the thread.
 *
 * The walk adds the weights of operations in the order of evaluation (see `operation-weight.ts`);
 * where branches part and meet, the heaviest point of any counts. When a stretch reaches
 * `limits.moduleStretchWeightMax`, the current operation is wrapped in a pause, and a new stretch
 * begins. A pause may be put before a loop, so that the loop needs none inside.
 *
 * Short functions and short loops have no pause. A pause costs about three nanoseconds.
 */
export function wrapLongStretches(program: Program, wraps: Wrap[]): void {
  new Stretches(wraps).function(program);
}

class Stretches {
  readonly #wraps: Wrap[];
  /** Weight since the last pause, and its maximum within the current fork. */
  #weight = 0;
  #peak = 0;

  constructor(wraps: Wrap[]) {
    this.#wraps = wraps;
  }

  /** The engine checks at the start of a function, whatever surrounds it. */
  function(node: AnyNode): void {
    const [weight, peak] = [this.#weight, this.#peak];
    this.#weight = 0;
    this.#inOrder(node, false);
    this.#weight = weight;
    this.#peak = peak;
  }

  /** `isPlace`: more than the node's value matters, so it cannot be wrapped. */
  #walk(node: AnyNode, isPlace: boolean): void {
    const { type } = node;
    if (functions.has(type)) {
      this.function(node);
      return;
    }
    if (forks.has(type)) this.#fork(node);
    else if (type === 'BinaryExpression') this.#chain(node);
    else this.#inOrder(node, isPlace);
    this.#add(node, isPlace);
  }

  #inOrder(node: AnyNode, isPlace: boolean): void {
    for (const child of childrenOf(node)) {
      // Two of three nodes, which weigh nothing.
      if (child.type === 'Identifier' || child.type === 'Literal') continue;
      if (isLoop(child) && lists.has(node.type)) this.#pauseBefore(child);
      this.#walk(child, isPlaceIn(node, child, isPlace));
    }
  }

  /** After a fork, the weight is that of its heaviest point: it may be left from anywhere. */
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

  /** A long sum nests as deep as it is long: the left operands are walked in a loop. */
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

/** Of everything below the node but functions; no more than is to be known. */
export function totalWeight(node: AnyNode): number {
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

/**
 * True if the parent needs more than a value: the receiver of a method, the rest of an optional
 * chain.
 */
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

/** Each branch of these begins after their common part; none leads to another. */
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

/** Nodes in which one statement can be put before another. */
const lists: ReadonlySet<string> = new Set([
  'Program',
  'BlockStatement',
  'StaticBlock',
  'SwitchCase',
]);
