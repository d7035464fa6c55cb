/**
 * The words that must be quoted, one set for each position. No list holds everywhere: `SELECT *
 * FROM order` and `SELECT select FROM t` are fine.
 */

/** As a relation of SELECT, UPDATE and DELETE. */
export const notRelation = wordSet('LATERAL TABLE UNNEST');

/** As the table of INSERT INTO. */
export const notInsertTarget = wordSet('DIRECTORY LOCAL TABLE');

/** After the body of a query, where the rest of the query begins. */
export const wordsBehindBody = wordSet('EXCEPT FETCH INTERSECT LIMIT OFFSET ORDER UNION');

/** What the body of a query may be, in words. */
export const queryBody = 'SELECT, VALUES, or a subquery in the query body';

/** As the alias of a relation without AS: these words continue the statement. */
export const notRelationAlias = wordSet(`ANALYZE AS CLUSTER CROSS DISTRIBUTE END EXCEPT EXPLAIN
  FETCH FULL GROUP HAVING INNER INTERSECT JOIN LATERAL LEFT LIMIT NATURAL OFFSET ON ORDER OUTER
  PARTITION PIVOT QUALIFY RIGHT SELECT SET SORT TOP UNION USING VIEW WHERE WINDOW WITH`);

/** As the alias of a column without AS. */
export const notColumnAlias = wordSet(`ANALYZE AND AS BETWEEN CLUSTER COLLATE DISTRIBUTE DIV END
  EXCEPT EXPLAIN FETCH FROM GROUP HAVING ILIKE IN INTERSECT INTO IS LATERAL LIKE LIMIT OFFSET
  OPERATOR OR ORDER SELECT SIMILAR SORT TOP UNION VIEW WHERE WITH XOR`);

/** In an expression these are functions without arguments. */
export const bareFunctionWords = wordSet(`CURRENT_CATALOG CURRENT_DATE CURRENT_TIME
  CURRENT_TIMESTAMP CURRENT_USER LOCALTIME LOCALTIMESTAMP SESSION_USER USER`);

/** A string directly after one of these is a typed literal: `DATE '2025-01-01'`. */
export const literalTypeWords = wordSet(`BIGINT BLOB BOOLEAN BYTEA CHAR DATE DATETIME DECIMAL
  DOUBLE FLOAT INT INTEGER INTERVAL JSON JSONB NUMERIC REAL SMALLINT TEXT TIME TIMESTAMP
  TIMESTAMPTZ TIMETZ UUID VARCHAR`);

/** First words of statements that exist in SQL but are not supported. */
export const otherStatementWords = wordSet(`ALTER ANALYZE ASSERT ATTACH BEGIN CACHE CALL CLOSE
  COMMENT COMMIT COPY CREATE DEALLOCATE DECLARE DESC DESCRIBE DETACH DISCARD DROP END EXECUTE
  EXPLAIN FETCH FLUSH GRANT INSTALL KILL LISTEN LOAD LOCK MERGE MSCK NOTIFY OPTIMIZE PRAGMA
  PREPARE RELEASE REPLACE REVOKE ROLLBACK SAVEPOINT START TRUNCATE UNCACHE UNLISTEN UNLOAD UNLOCK
  USE VACUUM VALUES WITH`);

/** Keywords as an error message shows them: in capitals, whatever their case was. */
export const shownInCapitals = wordSet(`ALL AND AS ASC BEGIN BETWEEN BY CASE CAST COMMIT CONFLICT
  CREATE CROSS DEFAULT DELETE DESC DISTINCT DO DROP ELSE END EXCEPT EXISTS EXPLAIN FALSE FETCH FROM
  FULL GROUP HAVING ILIKE IN INNER INSERT INTERSECT INTO IS JOIN LEFT LIKE LIMIT LOCAL NATURAL NOT
  NOTHING NULL OFFSET ON OR ORDER OUTER OVER PARTITION RETURNING RIGHT ROLLBACK SELECT SET SHOW
  SIMILAR TABLE TABLES THEN TO TOP TRUE UNION UPDATE USING VALUES WHEN WHERE WINDOW WITH`);

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(/\s+/));
}
