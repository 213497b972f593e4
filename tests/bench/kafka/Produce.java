import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Fills one topic and counts what a consumer gets of it, or counts only.
 *
 * usage: java -cp JARS Produce produce|count NAME=VALUE...
 *   bootstrap, topic, partitions          of both
 *   records, tails, keys, headers         what is written: see record(); keys=0: each its own
 *   batch, transaction                    records in each; transaction=0: none, else batch unused
 *   topic.X, producer.X                   passed on as X
 *
 * Each partition has a thread and a producer of its own. It flushes after each batch, so that the
 * batches on the disk have exactly as many records as were asked for. Where that is one record, one
 * producer without a buffer is enough: a request of it has a batch for each partition.
 */
public class Produce {
    private static final long FIRST_MS = 1_700_000_000_000L;
    private static final byte[] CONTENT_TYPE = bytes("application/json");

    private final Map<String, String> options;
    private final List<byte[]> tails;

    private Produce(Map<String, String> options, List<byte[]> tails) {
        this.options = options;
        this.tails = tails;
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (String argument : List.of(arguments).subList(1, arguments.length)) {
            String[] pair = argument.split("=", 2);
            options.put(pair[0], pair[1]);
        }
        if (arguments[0].equals("produce")) {
            List<byte[]> tails = new ArrayList<>();
            for (String line : Files.readAllLines(Path.of(options.get("tails")))) {
                tails.add(bytes(line));
            }
            new Produce(options, tails).fill();
        }
        count(options);
    }

    private void fill() throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", options.get("bootstrap")))) {
            create(admin, new NewTopic(options.get("topic"), number("partitions"), (short) 1));
        }
        List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
        List<Thread> threads = new ArrayList<>();
        int step = unit() > 1 ? number("partitions") : 1;
        for (int index = 0; index < step; index++) {
            int first = index;
            threads.add(new Thread(() -> fill(first, step)));
            threads.get(index).setUncaughtExceptionHandler((thread, error) -> failures.add(error));
            threads.get(index).start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (!failures.isEmpty()) {
            throw new IllegalStateException(failures.get(0));
        }
    }

    /** Make the topic, in place of one that a run left which was interrupted. */
    private void create(Admin admin, NewTopic topic) throws Exception {
        if (admin.listTopics().names().get().contains(topic.name())) {
            admin.deleteTopics(Set.of(topic.name())).all().get();
        }
        for (int attempt = 0; ; attempt++) {
            try {
                admin.createTopics(Set.of(topic.configs(passed("topic.")))).all().get();
                return;
            } catch (ExecutionException error) {
                boolean isMarked = error.getCause() instanceof TopicExistsException;
                if (!isMarked || attempt == 120) {
                    throw error;
                }
                Thread.sleep(500); // it is about to be deleted
            }
        }
    }

    /** Send every step-th record. */
    private void fill(int first, int step) {
        Map<String, Object> settings = new HashMap<>(passed("producer."));
        settings.put("bootstrap.servers", options.get("bootstrap"));
        settings.put("linger.ms", 60_000); // until the batch is flushed
        settings.put("delivery.timeout.ms", 180_000);
        settings.put("max.request.size", 16 << 20);
        settings.put("batch.size", unit() > 1 ? 8 << 20 : 0);
        boolean transactional = number("transaction") > 0;
        if (transactional) {
            settings.put("transactional.id", options.get("topic") + "-" + first);
        }
        Throwable[] failure = new Throwable[1];
        ByteArraySerializer serializer = new ByteArraySerializer();
        try (var producer = new KafkaProducer<>(settings, serializer, serializer)) {
            if (transactional) {
                producer.initTransactions();
            }
            long total = number("records");
            long sent = 0;
            for (long number = first; number < total; number += step) {
                if (transactional && sent % unit() == 0) {
                    producer.beginTransaction();
                }
                producer.send(record(number), (metadata, error) -> {
                    if (error != null) {
                        failure[0] = error;
                    }
                });
                boolean ends = ++sent % unit() == 0 || number + step >= total;
                if (ends && transactional) {
                    producer.commitTransaction();
                } else if (ends && unit() > 1) {
                    producer.flush();
                }
            }
        } // closing sends what is left
        if (failure[0] != null) {
            throw new IllegalStateException(failure[0]);
        }
    }

    /** How many records are sent before one waits for the broker. */
    private int unit() {
        return number("transaction") > 0 ? number("transaction") : number("batch");
    }

    /** A record is a function of its number; no two have the same value. */
    private ProducerRecord<byte[], byte[]> record(long number) {
        byte[] head = bytes(String.format("{\"n\":%08d,", number));
        byte[] tail = tails.get((int) (number % tails.size()));
        byte[] value = new byte[head.length + tail.length];
        System.arraycopy(head, 0, value, 0, head.length);
        System.arraycopy(tail, 0, value, head.length, tail.length);
        long keys = number("keys");
        long key = keys > 0 ? Math.floorMod(scattered(number), keys) : number * 7919 % 100_000_000;
        List<Header> headers = number("headers") == 0 ? List.of() : List.of(
            new RecordHeader("trace", bytes(String.format("%016x%016x", scattered(number), number))),
            new RecordHeader("content-type", CONTENT_TYPE));
        int partition = (int) (number % number("partitions"));
        return new ProducerRecord<>(options.get("topic"), partition, FIRST_MS + number / 10,
            bytes(String.format("%08d", key)), value, headers);
    }

    private static long scattered(long number) {
        long mixed = (number ^ (number >>> 30)) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
        return mixed ^ (mixed >>> 31);
    }

    private static void count(Map<String, String> options) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", options.get("bootstrap"));
        settings.put("isolation.level", "read_committed");
        settings.put("max.poll.records", 50_000);
        ByteArrayDeserializer deserializer = new ByteArrayDeserializer();
        long records = 0;
        List<TopicPartition> partitions = IntStream
            .range(0, Integer.parseInt(options.get("partitions")))
            .mapToObj(index -> new TopicPartition(options.get("topic"), index))
            .collect(Collectors.toList());
        Map<TopicPartition, Long> ends = ends(options.get("bootstrap"), partitions);
        try (var consumer = new KafkaConsumer<>(settings, deserializer, deserializer)) {
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            while (partitions.stream().anyMatch(each -> consumer.position(each) < ends.get(each))) {
                records += consumer.poll(Duration.ofSeconds(1)).count();
            }
        }
        String shown = new TreeMap<>(ends.entrySet().stream().collect(Collectors.toMap(
            entry -> entry.getKey().topic() + " " + entry.getKey().partition(), Map.Entry::getValue)))
            .entrySet().stream()
            .map(entry -> String.format("\"%s\": %d", entry.getKey(), entry.getValue()))
            .collect(Collectors.joining(", "));
        System.out.printf("{\"records\": %d, \"ends\": {%s}}%n", records, shown);
    }

    /** The log end offsets, once no transaction waits for its marker. */
    private static Map<TopicPartition, Long> ends(String bootstrap, List<TopicPartition> partitions)
        throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            for (;;) {
                Map<TopicPartition, Long> ends =
                    ends(admin, partitions, IsolationLevel.READ_UNCOMMITTED);
                if (ends.equals(ends(admin, partitions, IsolationLevel.READ_COMMITTED))) {
                    return ends;
                }
                Thread.sleep(200);
            }
        }
    }

    private static Map<TopicPartition, Long> ends(
        Admin admin, List<TopicPartition> partitions, IsolationLevel level) throws Exception {
        Map<TopicPartition, Long> found = new HashMap<>();
        Map<TopicPartition, OffsetSpec> latest = partitions.stream()
            .collect(Collectors.toMap(partition -> partition, partition -> OffsetSpec.latest()));
        var answer = admin.listOffsets(latest, new ListOffsetsOptions(level)).all().get();
        answer.forEach((partition, offset) -> found.put(partition, offset.offset()));
        return found;
    }

    private Map<String, String> passed(String prefix) {
        return options.entrySet().stream()
            .filter(entry -> entry.getKey().startsWith(prefix))
            .collect(Collectors.toMap(
                entry -> entry.getKey().substring(prefix.length()), Map.Entry::getValue));
    }

    private int number(String name) {
        return Integer.parseInt(options.get(name));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
