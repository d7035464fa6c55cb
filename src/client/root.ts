/**
 * The published entry `reducerdb` outside of Node: the client library and the values. In Node the
 * entry also starts services.
 *
 * @module
 */
export * from '../values/index.ts';
export * from './index.ts';
