/**
 * True inside the sandbox of modules, whose built-in objects are frozen and partly replaced. Some
 * operations are far slower there than elsewhere, and hot code takes another way; a constant, so
 * that asking costs nothing once the code is compiled.
 */
export const isHardenedRealm: boolean = Object.isFrozen(DataView.prototype);
