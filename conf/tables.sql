-- The tables of seglake, for Spark with Delta. The variable lake is the whole path.

CREATE TABLE IF NOT EXISTS records USING delta LOCATION '${lake}/records';
CREATE TABLE IF NOT EXISTS batches USING delta LOCATION '${lake}/batches';
CREATE TABLE IF NOT EXISTS quarantine USING delta LOCATION '${lake}/quarantine';
CREATE TABLE IF NOT EXISTS gaps USING delta LOCATION '${lake}/gaps';
CREATE TABLE IF NOT EXISTS consumer_offsets USING delta LOCATION '${lake}/consumer_offsets';
CREATE TABLE IF NOT EXISTS transaction_state USING delta LOCATION '${lake}/transaction_state';
CREATE TABLE IF NOT EXISTS cluster_metadata USING delta LOCATION '${lake}/cluster_metadata';
CREATE TABLE IF NOT EXISTS checkpoints USING delta LOCATION '${lake}/checkpoints';
CREATE TABLE IF NOT EXISTS observations USING delta LOCATION '${lake}/observations';
