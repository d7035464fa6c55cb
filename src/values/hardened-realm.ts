/**
 * True inside the sandbox of modules, whose built-in objects are frozen and partly replaced. Some
 * operations are far slower there, and hot code avoids them; a constant, so that the check costs
 * nothing once the code is compiled.
 */
export const isHardenedRealm: boolean = Object.isFrozen(DataView.prototype);
