/**
 * The client library: connect to a database, call its reducers, keep the rows of queries at hand.
 *
 * @module
 */
export { connect } from './client.ts';
