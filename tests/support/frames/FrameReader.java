package org.apache.kafka.clients.consumer.internals;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Set;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.FetchResponseData.PartitionData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.LogContext;

/**
 * Gives batches to the consumer's own CompletedFetch, as if a broker had sent them.
 *
 * Reads lines of a name and a batch in hex. Prints the name, how many records came, and what was thrown first.
 */
public final class FrameReader {
    private static final TopicPartition PARTITION = new TopicPartition("frames", 0);
    private static final FetchConfig CONFIG =
        new FetchConfig(1, 1 << 30, 1, 1 << 30, 1 << 30, true, "", IsolationLevel.READ_UNCOMMITTED);

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split(" ");
            System.out.println(parts[0] + "\t" + consumed(HexFormat.of().parseHex(parts[1])));
        }
    }

    private static String consumed(byte[] batch) {
        int count = 0;
        String thrown = "";
        try {
            CompletedFetch fetch = fetch(batch);
            Deserializers<byte[], byte[]> bytes =
                new Deserializers<>(new ByteArrayDeserializer(), new ByteArrayDeserializer(), null);
            while (!fetch.fetchRecords(CONFIG, bytes, 1).isEmpty()) {
                count++;
            }
        } catch (Throwable error) {
            Throwable cause = error;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            thrown = cause.getClass().getSimpleName() + ": " + cause.getMessage();
        }
        return count + "\t" + thrown.replace('\n', ' ');
    }

    private static CompletedFetch fetch(byte[] batch) {
        LogContext logs = new LogContext();
        FetchMetricsManager metrics = new FetchMetricsManager(new Metrics(), new FetchMetricsRegistry());
        PartitionData data = new PartitionData().setPartitionIndex(0).setHighWatermark(1 << 30)
            .setRecords(MemoryRecords.readableRecords(ByteBuffer.wrap(batch)));
        return new CompletedFetch(logs.logger(FrameReader.class),
            new SubscriptionState(logs, AutoOffsetResetStrategy.EARLIEST), BufferSupplier.create(), PARTITION, data,
            new FetchMetricsAggregator(metrics, Set.of(PARTITION)), 0L);
    }
}
