/**
 * The published entry `reducerdb` outside of Node: the client library and all about values. In Node
 * the entry starts services, too.
 *
 * @module
 */
export * from '../values/index.ts';
export * from './index.ts';
