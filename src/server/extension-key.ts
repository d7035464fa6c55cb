/** Under it a schema has what the entry of a program with migrations adds to it. */
export const extensionKey: unique symbol = Symbol.for('reducerdb.extension.v1');
