import { readFileSync } from 'node:fs';
import { type AnyNode, parse } from 'acorn';
import { describe, expect, it } from 'vitest';
import { childrenOf, findChildren } from './syntax-children.ts';

/** Each kind of node that a script can have, in forms with and without their optional parts. */
const everything = `
  "use strict"; debugger; ; 1; "a"; /r/g; 1n; null; this;
  label: for (;;) { if (a) break label; else continue label; if (b) continue; break; }
  for (var i = 0, j; i < 1; i++) ; for (const k in o) f(k); for (let [x = 1, , ...y] of z) {}
  while (a) b; do c; while (d); switch (e) { case 1: f(); break; default: }
  try { g(); } catch { h(); } try { g(); } catch ({ m, n: [p] }) { } finally { q(); }
  var { s, t: u = 1, [v]: w, ...rest } = x, y2;
  function d1({ a, b: { c = 1 } = {} }, [e], f = 2, ...g) { return; return a, b; }
  function* d2() { yield; yield* a; yield b; } async function d3() { await a; }
  const e1 = function named() {}, e2 = () => a, e3 = async ({ b }) => { throw b; };
  class A extends (0, B) { static #p = 1; q; [r] = 2; static { this.x(); } get [s]() {}
    set t(v) { super.t = #p in v; } constructor() { super(...a); new.target; this.#p = 1; } }
  (class {}); (class C {});
  o = { a, b: 1, [c]: 2, 'd': 3, 4: 5, e() {}, get f() { return 1; }, set f(v) {}, ...g };
  o = { async *h() {} };
  [1, , ...a]; new D; new D(1, ...b); x?.y?.[z]?.(w); (x?.y).z;
  delete a.b; void 0; typeof a; !a; -a; ~a;
  a ? b : c; a && b || c; c ?? d; a = b; a += c; a ||= d; [a, b.c] = d; ({ a, b: e.f, ...g } = h);
  i++; --j; \`a\${b}c\${d}\`; tag\`x\${y}\`; import(a); a ** b; a in b; (a, b, c);
`;

describe('the nodes below a node', () => {
  const texts = [everything, readFileSync(new URL(import.meta.resolve('acorn')), 'utf8')];

  it.each(texts)('are found without a look at every property (%#)', (text) => {
    const kinds = new Set<string>();
    const ecmaVersion = 'latest';
    const pending: AnyNode[] = [parse(text, { ecmaVersion, sourceType: 'module', ...loose })];
    for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
      kinds.add(node.type);
      const found = findChildren(node);
      const named = childrenOf(node);
      if (named.length === found.length && named.every((child, at) => child === found[at])) {
        pending.push(...found);
      } else expect(named).toEqual(found);
    }
    expect(kinds.size).toBeGreaterThan(30);
  });
});

const loose = { allowReturnOutsideFunction: true, allowAwaitOutsideFunction: true };
