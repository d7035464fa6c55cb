/**
 * The first script of a new realm. It bounds what one call of a built-in can walk or allocate.
 *
 * The JavaScript engine ends the *process* when one allocation is too large for it, and cannot be
 * interrupted inside most built-ins: `Array.prototype.sort.call({ length: 2 ** 53 - 1 })` does
 * the first, `fill` on the same does the second. What a program does in loops of its own is left to
 * the watchdog, which can interrupt those. Language constructs cannot be guarded from here; what
 * remains is listed in `docs/guide/security.md`.
 *
 * 1. Methods of arrays first look at the length. Of an array it cannot change between our look and
 *    the engine's. An object with a length is passed to the engine behind a proxy of ours, with the
 *    length that we saw.
 * 2. The proxy of an array cannot be distinguished from an array, and can have another length at
 *    each check. So a program's own proxies check what they answer.
 * 3. Constructors of buffers and typed arrays are ours, and look at the size. Those of the engine
 *    are not reachable: prototypes name ours, and every copying method goes through them.
 * 4. A text is cut into a bounded number of pieces, and parsed up to a bounded length.
 *
 * A guard costs a few nanoseconds. The order counts: a guard takes what it needs of the engine when
 * its file runs, and finds guarded what an earlier file has guarded.
 */
import './proxy-guards.js';
import './array-guards.js';
import './buffer-guards.js';
import './text-guards.js';
import './key-guards.js';
import './code-guards.js';
import './locale-guards.js';
import './syntax-guards.js';
