import type { Sample } from './prometheus-text.ts';

/** Two scrapes of a service, some seconds apart. Ranges of expressions reach over both. */
export interface Scrapes {
  readonly before: readonly Sample[];
  readonly now: readonly Sample[];
  readonly seconds: number;
}

type Labels = Readonly<Record<string, string>>;

interface Value {
  readonly labels: Labels;
  readonly value: number;
}

/**
 * Evaluates the part of PromQL that our alerts and panels are written in: selectors, `rate`,
 * `increase`, `deriv`, `sum`/`max by`, `histogram_quantile`, arithmetic and comparisons. A number is a
 * vector without labels.
 */
export function evaluate(expression: string, scrapes: Scrapes): readonly Value[] {
  const parser = new Parser(expression, scrapes);
  const values = parser.comparison();
  parser.expectEnd();
  return values;
}

/** Names of metrics with the labels that an expression asks of each. */
export function selectorsIn(expression: string): { name: string; labels: string[] }[] {
  const found = expression.matchAll(/\b((?:reducerdb_|up\b)\w*)(?:\{([^}]*)\})?/g);
  return [...found].map(([, name = '', matchers = '']) => ({
    name,
    labels: [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label = '']) => label),
  }));
}

const tokenPattern = /\s*([a-zA-Z_]\w*|\d+(?:\.\d+)?|"[^"]*"|=~|!=|==|>=|<=|[-+*/(){}[\],=<>])/y;

class Parser {
  readonly #tokens: string[] = [];
  readonly #scrapes: Scrapes;
  #at = 0;

  constructor(expression: string, scrapes: Scrapes) {
    this.#scrapes = scrapes;
    for (let end = 0; end < expression.trimEnd().length; end = tokenPattern.lastIndex) {
      tokenPattern.lastIndex = end;
      const token = tokenPattern.exec(expression)?.[1];
      if (token === undefined) throw new Error(`PromQL: ${expression.slice(end)}`);
      this.#tokens.push(token);
    }
  }

  expectEnd(): void {
    if (this.#at < this.#tokens.length) throw new Error(`PromQL: ${this.#tokens[this.#at]}`);
  }

  comparison(): readonly Value[] {
    const left = this.#quotient();
    const operator = this.#takeOneOf('>', '<', '==', '!=', '>=', '<=');
    if (operator === undefined) return left;
    const right = Number(this.#take());
    return left.filter(({ value }) => compare(value, operator, right));
  }

  #quotient(): readonly Value[] {
    let left = this.#operand();
    for (;;) {
      const operator = this.#takeOneOf('/', '*', '-');
      if (operator === undefined) return left;
      const match = this.#matching();
      left = combine(left, this.#operand(), operator, match);
    }
  }

  /** The labels by which two vectors are matched. */
  #matching(): (labels: Labels) => Labels {
    const word = this.#takeOneOf('on', 'ignoring');
    if (word === undefined) return (labels) => labels;
    const names = this.#names();
    return (labels) => pick(labels, (name) => names.includes(name) === (word === 'on'));
  }

  #operand(): readonly Value[] {
    const token = this.#take();
    if (/^\d/.test(token)) return [{ labels: {}, value: Number(token) }];
    switch (token) {
      case '(':
        return this.#closed(this.comparison());
      case 'sum':
      case 'max':
        return this.#aggregate(token);
      case 'rate':
      case 'increase':
      case 'deriv':
        this.#expect('(');
        return this.#closed(this.#change(token));
      case 'histogram_quantile': {
        this.#expect('(');
        const quantile = Number(this.#take());
        this.#expect(',');
        return this.#closed(quantileOf(quantile, this.comparison()));
      }
      default:
        return this.#select(token, this.#scrapes.now);
    }
  }

  #aggregate(kind: 'sum' | 'max'): readonly Value[] {
    const names = this.#takeOneOf('by') === undefined ? [] : this.#names();
    this.#expect('(');
    const groups = new Map<string, Value>();
    for (const { labels, value } of this.#closed(this.comparison())) {
      const kept = pick(labels, (name) => names.includes(name));
      const before = groups.get(keyOf(kept))?.value;
      const sum = kind === 'sum' ? (before ?? 0) + value : Math.max(before ?? value, value);
      groups.set(keyOf(kept), { labels: kept, value: sum });
    }
    return [...groups.values()];
  }

  /** As Prometheus has it, a series that begins between two scrapes has not grown. */
  #change(kind: 'rate' | 'increase' | 'deriv'): readonly Value[] {
    const start = this.#at;
    const name = this.#take();
    const now = this.#select(name, this.#scrapes.now);
    this.#at = start + 1;
    const before = this.#select(name, this.#scrapes.before);
    while (this.#take() !== ']');
    const known = new Map(before.map(({ labels, value }) => [keyOf(labels), value]));
    return now.flatMap(({ labels, value }) => {
      const earlier = known.get(keyOf(labels));
      if (earlier === undefined) return [];
      const grown = value < earlier ? value : value - earlier;
      return [{ labels, value: kind === 'increase' ? grown : grown / this.#scrapes.seconds }];
    });
  }

  #select(name: string, samples: readonly Sample[]): Value[] {
    const matchers: ((labels: Labels) => boolean)[] = [];
    if (this.#takeOneOf('{') !== undefined) {
      while (this.#takeOneOf('}') === undefined) {
        const label = this.#take();
        const operator = this.#take();
        const text = this.#take().slice(1, -1);
        const pattern = new RegExp(`^(?:${text})$`);
        matchers.push(({ [label]: value = '' }) => {
          if (operator === '=~') return pattern.test(value);
          return (value === text) === (operator === '=');
        });
        this.#takeOneOf(',');
      }
    }
    return samples
      .filter((sample) => sample.name === name && matchers.every((match) => match(sample.labels)))
      .map(({ labels, value }) => ({ labels, value }));
  }

  #closed<Result>(result: Result): Result {
    this.#expect(')');
    return result;
  }

  #names(): string[] {
    const names: string[] = [];
    this.#expect('(');
    while (this.#takeOneOf(')') === undefined) {
      names.push(this.#take());
      this.#takeOneOf(',');
    }
    return names;
  }

  #takeOneOf(...tokens: string[]): string | undefined {
    const token = this.#tokens[this.#at];
    if (token === undefined || !tokens.includes(token)) return undefined;
    this.#at += 1;
    return token;
  }

  #expect(token: string): void {
    const found = this.#take();
    if (found !== token) throw new Error(`PromQL: ${found} in place of ${token}`);
  }

  #take(): string {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new Error('PromQL: it ends too soon');
    this.#at += 1;
    return token;
  }
}

function compare(left: number, operator: string, right: number): boolean {
  switch (operator) {
    case '>':
      return left > right;
    case '<':
      return left < right;
    case '>=':
      return left >= right;
    case '<=':
      return left <= right;
    case '!=':
      return left !== right;
    default:
      return left === right;
  }
}

function combine(
  left: readonly Value[],
  right: readonly Value[],
  operator: string,
  match: (labels: Labels) => Labels,
): Value[] {
  const others = new Map(right.map(({ labels, value }) => [keyOf(match(labels)), value]));
  const [only] = right;
  const scalar = right.length === 1 && keyOf(only?.labels ?? {}) === '[]' ? only?.value : undefined;
  return left.flatMap(({ labels, value }) => {
    const other = others.get(keyOf(match(labels))) ?? scalar;
    if (other === undefined) return [];
    if (operator === '/') return [{ labels, value: value / other }];
    return [{ labels, value: operator === '*' ? value * other : value - other }];
  });
}

/** The bound of the bucket in which the quantile is; Prometheus interpolates within it. */
function quantileOf(quantile: number, buckets: readonly Value[]): Value[] {
  const groups = new Map<string, { labels: Labels; steps: [le: number, count: number][] }>();
  for (const { labels, value } of buckets) {
    const { le = '', ...kept } = labels;
    const group = groups.get(keyOf(kept)) ?? { labels: kept, steps: [] };
    group.steps.push([le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le), value]);
    groups.set(keyOf(kept), group);
  }
  return [...groups.values()].map(({ labels, steps }) => {
    steps.sort(([one], [other]) => one - other);
    const [, all = 0] = steps.at(-1) ?? [];
    const at = steps.findIndex(([, count]) => count >= quantile * all);
    const [longest = Number.NaN] = steps.at(-2) ?? [];
    const [le = Number.NaN] = all === 0 ? [] : (steps[at] ?? []);
    return { labels, value: le === Number.POSITIVE_INFINITY ? longest : le };
  });
}

function pick(labels: Labels, isKept: (name: string) => boolean): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => isKept(name)));
}

function keyOf(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).sort());
}
