/**
 * Globals of the web that modules use and the sandbox has not. The bundler takes each from here
 * where sources name it without declaring it, so a module carries only what it uses, as code of
 * its own: counted, limited and stopped like all of it.
 */
export { atob, btoa } from './base64.ts';
export { structuredClone } from './structured-clone.ts';
export { URL } from './url.ts';
export { URLSearchParams } from './url-search-params.ts';
