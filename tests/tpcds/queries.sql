-- Queries of our own in the shapes of TPC-DS's, in Spark SQL. Constants suit the rows of data.py.

-- query: q01 -- customers who return more than the stores' usual customer: a CTE and its correlated average
WITH returned AS (
  SELECT sr_customer_sk AS customer, sr_store_sk AS store, SUM(sr_return_amt) AS amount
  FROM store_returns, date_dim
  WHERE sr_returned_date_sk = d_date_sk AND d_year IN (2000, 2001)
  GROUP BY sr_customer_sk, sr_store_sk
)
SELECT c_customer_id
FROM returned r, store, customer
WHERE r.amount > (SELECT AVG(amount) * 1.1 FROM returned other WHERE r.store = other.store)
  AND s_store_sk = r.store AND s_state IN ('GA', 'OH') AND r.customer = c_customer_sk
ORDER BY c_customer_id
LIMIT 100;

-- query: q02 -- sales of the days of a week, beside those of 53 weeks later
WITH sold AS (
  SELECT day_sk, price
  FROM (SELECT ws_sold_date_sk AS day_sk, ws_ext_sales_price AS price FROM web_sales
        UNION ALL SELECT cs_sold_date_sk, cs_ext_sales_price FROM catalog_sales) both_channels
), weekly AS (
  SELECT d_week_seq AS week,
         SUM(CASE WHEN d_day_name = 'Sunday' THEN price END) AS sun, SUM(CASE WHEN d_day_name = 'Monday' THEN price END) AS mon,
         SUM(CASE WHEN d_day_name = 'Tuesday' THEN price END) AS tue, SUM(CASE WHEN d_day_name = 'Wednesday' THEN price END) AS wed,
         SUM(CASE WHEN d_day_name = 'Thursday' THEN price END) AS thu, SUM(CASE WHEN d_day_name = 'Friday' THEN price END) AS fri,
         SUM(CASE WHEN d_day_name = 'Saturday' THEN price END) AS sat
  FROM sold, date_dim
  WHERE d_date_sk = day_sk
  GROUP BY d_week_seq
)
SELECT y.week, ROUND(y.sun / z.sun, 2) AS r_sun, ROUND(y.mon / z.mon, 2) AS r_mon, ROUND(y.tue / z.tue, 2) AS r_tue,
       ROUND(y.wed / z.wed, 2) AS r_wed, ROUND(y.thu / z.thu, 2) AS r_thu, ROUND(y.fri / z.fri, 2) AS r_fri, ROUND(y.sat / z.sat, 2) AS r_sat
FROM (SELECT weekly.week AS week, sun, mon, tue, wed, thu, fri, sat FROM weekly, date_dim WHERE d_week_seq = weekly.week AND d_year = 1999) y,
     (SELECT weekly.week AS week, sun, mon, tue, wed, thu, fri, sat FROM weekly, date_dim WHERE d_week_seq = weekly.week AND d_year = 2000) z
WHERE y.week = z.week - 53
ORDER BY y.week;

-- query: q03 -- a maker's brands in Novembers
SELECT d.d_year, i_brand_id AS brand_id, i_brand AS brand, SUM(ss_ext_sales_price) AS sum_agg
FROM date_dim d, store_sales, item
WHERE d.d_date_sk = store_sales.ss_sold_date_sk AND store_sales.ss_item_sk = item.i_item_sk AND item.i_manufact_id IN (2, 3) AND d.d_moy IN (2, 11)
GROUP BY d.d_year, item.i_brand, item.i_brand_id
ORDER BY d.d_year, sum_agg DESC, brand_id
LIMIT 5;

-- query: q04 -- customers whose catalog sales grew faster than their store and web sales: one CTE of three channels, read six times
WITH yearly AS (
  SELECT c_customer_id AS id, c_first_name AS first_name, c_last_name AS last_name, c_preferred_cust_flag AS flag,
         d_year AS year, 'store' AS channel,
         SUM(((ss_ext_list_price - ss_ext_wholesale_cost - ss_ext_discount_amt) + ss_ext_sales_price) / 2) AS total
  FROM store_sales JOIN customer ON ss_customer_sk = c_customer_sk JOIN date_dim ON ss_sold_date_sk = d_date_sk
  GROUP BY c_customer_id, c_first_name, c_last_name, c_preferred_cust_flag, d_year
  UNION ALL
  SELECT c_customer_id, c_first_name, c_last_name, c_preferred_cust_flag, d_year, 'catalog',
         SUM(((cs_ext_list_price - cs_ext_wholesale_cost - cs_ext_discount_amt) + cs_ext_sales_price) / 2)
  FROM catalog_sales JOIN customer ON cs_bill_customer_sk = c_customer_sk JOIN date_dim ON cs_sold_date_sk = d_date_sk
  GROUP BY c_customer_id, c_first_name, c_last_name, c_preferred_cust_flag, d_year
  UNION ALL
  SELECT c_customer_id, c_first_name, c_last_name, c_preferred_cust_flag, d_year, 'web',
         SUM(((ws_ext_list_price - ws_ext_wholesale_cost - ws_ext_discount_amt) + ws_ext_sales_price) / 2)
  FROM web_sales JOIN customer ON ws_bill_customer_sk = c_customer_sk JOIN date_dim ON ws_sold_date_sk = d_date_sk
  GROUP BY c_customer_id, c_first_name, c_last_name, c_preferred_cust_flag, d_year
)
SELECT s2.id, s2.first_name, s2.last_name, s2.flag
FROM yearly s1, yearly s2, yearly c1, yearly c2, yearly w1, yearly w2
WHERE s2.id = s1.id AND c1.id = s1.id AND c2.id = s1.id AND w1.id = s1.id AND w2.id = s1.id
  AND s1.channel = 'store' AND s2.channel = 'store' AND c1.channel = 'catalog' AND c2.channel = 'catalog'
  AND w1.channel = 'web' AND w2.channel = 'web'
  AND s1.year = 2000 AND s2.year = 2001 AND c1.year = 2000 AND c2.year = 2001 AND w1.year = 2000 AND w2.year = 2001
  AND s1.total > 0 AND c1.total > 0 AND w1.total > 0
  AND CASE WHEN c1.total > 0 THEN c2.total / c1.total END > CASE WHEN s1.total > 0 THEN s2.total / s1.total END / 4
  AND CASE WHEN c1.total > 0 THEN c2.total / c1.total END > CASE WHEN w1.total > 0 THEN w2.total / w1.total END / 4
ORDER BY s2.id, s2.first_name, s2.last_name, s2.flag
LIMIT 100;

-- query: q05 -- profit and loss of three channels, each a union of sales and returns, rolled up
WITH stores AS (
  SELECT s_store_id, SUM(price) AS sales, SUM(profit) AS profit, SUM(back) AS back, SUM(loss) AS loss
  FROM (SELECT ss_store_sk AS place, ss_sold_date_sk AS day_sk, ss_ext_sales_price AS price, ss_net_profit AS profit,
               CAST(0 AS DECIMAL(7,2)) AS back, CAST(0 AS DECIMAL(7,2)) AS loss
        FROM store_sales
        UNION ALL
        SELECT sr_store_sk, sr_returned_date_sk, CAST(0 AS DECIMAL(7,2)), CAST(0 AS DECIMAL(7,2)), sr_return_amt, sr_net_loss FROM store_returns) moved,
       date_dim, store
  WHERE day_sk = d_date_sk AND d_date BETWEEN CAST('2000-02-01' AS DATE) AND (CAST('2000-02-01' AS DATE) + INTERVAL 14 DAYS) AND place = s_store_sk
  GROUP BY s_store_id
), pages AS (
  SELECT cp_catalog_page_id, SUM(price) AS sales, SUM(profit) AS profit, SUM(back) AS back, SUM(loss) AS loss
  FROM (SELECT cs_catalog_page_sk AS place, cs_sold_date_sk AS day_sk, cs_ext_sales_price AS price, cs_net_profit AS profit,
               CAST(0 AS DECIMAL(7,2)) AS back, CAST(0 AS DECIMAL(7,2)) AS loss
        FROM catalog_sales
        UNION ALL
        SELECT cr_catalog_page_sk, cr_returned_date_sk, CAST(0 AS DECIMAL(7,2)), CAST(0 AS DECIMAL(7,2)), cr_return_amount, cr_net_loss FROM catalog_returns) moved,
       date_dim, catalog_page
  WHERE day_sk = d_date_sk AND d_date BETWEEN CAST('2000-02-01' AS DATE) AND (CAST('2000-02-01' AS DATE) + INTERVAL 14 DAYS) AND place = cp_catalog_page_sk
  GROUP BY cp_catalog_page_id
), sites AS (
  SELECT web_site_id, SUM(price) AS sales, SUM(profit) AS profit, SUM(back) AS back, SUM(loss) AS loss
  FROM (SELECT ws_web_site_sk AS place, ws_sold_date_sk AS day_sk, ws_ext_sales_price AS price, ws_net_profit AS profit,
               CAST(0 AS DECIMAL(7,2)) AS back, CAST(0 AS DECIMAL(7,2)) AS loss
        FROM web_sales
        UNION ALL
        SELECT ws_web_site_sk, wr_returned_date_sk, CAST(0 AS DECIMAL(7,2)), CAST(0 AS DECIMAL(7,2)), wr_return_amt, wr_net_loss
        FROM web_returns LEFT OUTER JOIN web_sales ON wr_item_sk = ws_item_sk AND wr_order_number = ws_order_number) moved,
       date_dim, web_site
  WHERE day_sk = d_date_sk AND d_date BETWEEN CAST('2000-02-01' AS DATE) AND (CAST('2000-02-01' AS DATE) + INTERVAL 14 DAYS) AND place = web_site_sk
  GROUP BY web_site_id
)
SELECT channel, id, SUM(sales) AS sales, SUM(back) AS back, SUM(profit) AS profit
FROM (SELECT 'store channel' AS channel, CONCAT('store', s_store_id) AS id, sales, back, (profit - loss) AS profit FROM stores
      UNION ALL SELECT 'catalog channel', CONCAT('catalog_page', cp_catalog_page_id), sales, back, (profit - loss) FROM pages
      UNION ALL SELECT 'web channel', CONCAT('web_site', web_site_id), sales, back, (profit - loss) FROM sites) x
GROUP BY ROLLUP (channel, id)
ORDER BY channel, id
LIMIT 100;

-- query: q06 -- states whose customers bought what is dear in its category: a scalar and a correlated subquery
SELECT a.ca_state AS state, COUNT(*) AS cnt
FROM customer_address a, customer c, store_sales s, date_dim d, item i
WHERE a.ca_address_sk = c.c_current_addr_sk AND c.c_customer_sk = s.ss_customer_sk AND s.ss_sold_date_sk = d.d_date_sk AND s.ss_item_sk = i.i_item_sk
  AND d.d_month_seq = (SELECT DISTINCT d_month_seq FROM date_dim WHERE d_year = 2000 AND d_moy = 2)
  AND i.i_current_price > 1.1 * (SELECT AVG(j.i_current_price) FROM item j WHERE j.i_category = i.i_category)
GROUP BY a.ca_state
HAVING COUNT(*) >= 1
ORDER BY cnt, a.ca_state
LIMIT 100;

-- query: q07 -- averages by item for one kind of customer outside two kinds of promotion
SELECT i_item_id, AVG(ss_quantity) AS agg1, AVG(ss_list_price) AS agg2, AVG(ss_coupon_amt) AS agg3, AVG(ss_sales_price) AS agg4
FROM store_sales, customer_demographics, date_dim, item, promotion
WHERE ss_sold_date_sk = d_date_sk AND ss_item_sk = i_item_sk AND ss_cdemo_sk = cd_demo_sk AND ss_promo_sk = p_promo_sk
  AND cd_gender = 'M' AND cd_marital_status IN ('M', 'D') AND (p_channel_email = 'N' OR p_channel_event = 'N') AND d_year = 2000
GROUP BY i_item_id
ORDER BY i_item_id
LIMIT 100;

-- query: q08 -- stores near areas of preferred customers: INTERSECT in a FROM, HAVING inside
SELECT s_store_name, SUM(ss_net_profit) AS profit
FROM store_sales, date_dim, store,
     (SELECT zip FROM (SELECT SUBSTR(ca_zip, 1, 5) AS zip FROM customer_address WHERE SUBSTR(ca_zip, 1, 5) IN ('24128', '24536', '85669', '99999', '10001')
                       INTERSECT
                       SELECT zip FROM (SELECT SUBSTR(ca_zip, 1, 5) AS zip, COUNT(*) AS cnt FROM customer_address, customer
                                        WHERE ca_address_sk = c_current_addr_sk AND c_preferred_cust_flag = 'Y'
                                        GROUP BY ca_zip HAVING COUNT(*) > 0) preferred) listed) near
WHERE ss_store_sk = s_store_sk AND ss_sold_date_sk = d_date_sk AND d_qoy = 1 AND d_year = 2000 AND SUBSTR(s_zip, 1, 2) = SUBSTR(near.zip, 1, 2)
GROUP BY s_store_name
ORDER BY s_store_name
LIMIT 100;

-- query: q09 -- a CASE over fifteen scalar subqueries
SELECT
  CASE WHEN (SELECT COUNT(*) FROM store_sales WHERE ss_quantity BETWEEN 1 AND 8) > 12
       THEN (SELECT AVG(ss_ext_discount_amt) FROM store_sales WHERE ss_quantity BETWEEN 1 AND 8)
       ELSE (SELECT AVG(ss_net_paid) FROM store_sales WHERE ss_quantity BETWEEN 1 AND 8) END AS first_fifth,
  CASE WHEN (SELECT COUNT(*) FROM store_sales WHERE ss_quantity BETWEEN 9 AND 16) > 12
       THEN (SELECT AVG(ss_ext_discount_amt) FROM store_sales WHERE ss_quantity BETWEEN 9 AND 16)
       ELSE (SELECT AVG(ss_net_paid) FROM store_sales WHERE ss_quantity BETWEEN 9 AND 16) END AS second_fifth,
  CASE WHEN (SELECT COUNT(*) FROM store_sales WHERE ss_quantity BETWEEN 17 AND 24) > 12
       THEN (SELECT AVG(ss_ext_discount_amt) FROM store_sales WHERE ss_quantity BETWEEN 17 AND 24)
       ELSE (SELECT AVG(ss_net_paid) FROM store_sales WHERE ss_quantity BETWEEN 17 AND 24) END AS third_fifth,
  CASE WHEN (SELECT COUNT(*) FROM store_sales WHERE ss_quantity BETWEEN 25 AND 32) > 12
       THEN (SELECT AVG(ss_ext_discount_amt) FROM store_sales WHERE ss_quantity BETWEEN 25 AND 32)
       ELSE (SELECT AVG(ss_net_paid) FROM store_sales WHERE ss_quantity BETWEEN 25 AND 32) END AS fourth_fifth,
  CASE WHEN (SELECT COUNT(*) FROM store_sales WHERE ss_quantity BETWEEN 33 AND 40) > 12
       THEN (SELECT AVG(ss_ext_discount_amt) FROM store_sales WHERE ss_quantity BETWEEN 33 AND 40)
       ELSE (SELECT AVG(ss_net_paid) FROM store_sales WHERE ss_quantity BETWEEN 33 AND 40) END AS last_fifth
FROM reason
WHERE r_reason_sk = 1;

-- query: q10 -- customers counted by their demographics, who bought in a store and (on the web or by catalog)
SELECT cd_gender, cd_marital_status, cd_education_status, COUNT(*) AS cnt1, cd_purchase_estimate, COUNT(*) AS cnt2, cd_credit_rating, COUNT(*) AS cnt3,
       cd_dep_count, COUNT(*) AS cnt4, cd_dep_employed_count, COUNT(*) AS cnt5, cd_dep_college_count, COUNT(*) AS cnt6
FROM customer c, customer_address ca, customer_demographics
WHERE c.c_current_addr_sk = ca.ca_address_sk AND ca_county IN ('Walker County', 'Daviess County') AND cd_demo_sk = c.c_current_cdemo_sk
  AND EXISTS (SELECT * FROM store_sales, date_dim WHERE c.c_customer_sk = ss_customer_sk AND ss_sold_date_sk = d_date_sk AND d_year = 2000 AND d_moy BETWEEN 1 AND 4)
  AND (EXISTS (SELECT * FROM web_sales, date_dim WHERE c.c_customer_sk = ws_bill_customer_sk AND ws_sold_date_sk = d_date_sk AND d_year = 2000 AND d_moy BETWEEN 1 AND 4)
       OR EXISTS (SELECT * FROM catalog_sales, date_dim WHERE c.c_customer_sk = cs_ship_customer_sk AND cs_sold_date_sk = d_date_sk AND d_year = 2000 AND d_moy BETWEEN 1 AND 4))
GROUP BY cd_gender, cd_marital_status, cd_education_status, cd_purchase_estimate, cd_credit_rating, cd_dep_count, cd_dep_employed_count, cd_dep_college_count
ORDER BY cd_gender, cd_marital_status, cd_education_status, cd_purchase_estimate, cd_credit_rating, cd_dep_count, cd_dep_employed_count, cd_dep_college_count
LIMIT 100;

-- query: q11 -- customers whose web sales grew faster than their store sales: one CTE of two channels, read four times
WITH yearly AS (
  SELECT c_customer_id AS id, c_first_name AS first_name, c_last_name AS last_name, c_preferred_cust_flag AS flag, c_birth_country AS country,
         d_year AS year, SUM(ss_ext_list_price - ss_ext_discount_amt) AS total, 's' AS channel
  FROM customer, store_sales, date_dim
  WHERE c_customer_sk = ss_customer_sk AND ss_sold_date_sk = d_date_sk
  GROUP BY c_customer_id, c_first_name, c_last_name, c_preferred_cust_flag, c_birth_country, d_year
  UNION ALL
  SELECT c_customer_id, c_first_name, c_last_name, c_preferred_cust_flag, c_birth_country, d_year, SUM(ws_ext_list_price - ws_ext_discount_amt), 'w'
  FROM customer, web_sales, date_dim
  WHERE c_customer_sk = ws_bill_customer_sk AND ws_sold_date_sk = d_date_sk
  GROUP BY c_customer_id, c_first_name, c_last_name, c_preferred_cust_flag, c_birth_country, d_year
)
SELECT s2.id, s2.first_name, s2.last_name, s2.flag
FROM yearly s1, yearly s2, yearly w1, yearly w2
WHERE s2.id = s1.id AND s1.id = w2.id AND s1.id = w1.id AND s1.channel = 's' AND w1.channel = 'w' AND s2.channel = 's' AND w2.channel = 'w'
  AND s1.year = 2000 AND s2.year = 2001 AND w1.year = 2000 AND w2.year = 2001 AND s1.total > 0 AND w1.total > 0
  AND CASE WHEN w1.total > 0 THEN w2.total / w1.total ELSE 0.0 END > CASE WHEN s1.total > 0 THEN s2.total / s1.total ELSE 0.0 END
ORDER BY s2.id, s2.first_name, s2.last_name, s2.flag
LIMIT 100;

-- query: q12 -- an item's part of its class in web sales: a window over a sum
SELECT i_item_id, i_item_desc, i_category, i_class, i_current_price, SUM(ws_ext_sales_price) AS revenue,
       SUM(ws_ext_sales_price) * 100 / SUM(SUM(ws_ext_sales_price)) OVER (PARTITION BY i_class) AS ratio
FROM web_sales, item, date_dim
WHERE ws_item_sk = i_item_sk AND i_category IN ('Sports', 'Books') AND ws_sold_date_sk = d_date_sk
  AND d_date BETWEEN CAST('2000-01-31' AS DATE) AND (CAST('2000-01-31' AS DATE) + INTERVAL 30 DAYS)
GROUP BY i_item_id, i_item_desc, i_category, i_class, i_current_price
ORDER BY i_category, i_class, i_item_id, i_item_desc, ratio
LIMIT 100;

-- query: q13 -- averages under two groups of alternatives, each with its own join conditions
SELECT AVG(ss_quantity) AS q, AVG(ss_ext_sales_price) AS p, AVG(ss_ext_wholesale_cost) AS w, SUM(ss_ext_wholesale_cost) AS s
FROM store_sales, store, customer_demographics, household_demographics, customer_address, date_dim
WHERE s_store_sk = ss_store_sk AND ss_sold_date_sk = d_date_sk AND d_year = 2000
  AND ((ss_hdemo_sk = hd_demo_sk AND cd_demo_sk = ss_cdemo_sk AND cd_marital_status = 'M' AND cd_education_status = 'Unknown' AND ss_sales_price BETWEEN 10 AND 150 AND hd_dep_count = 3)
    OR (ss_hdemo_sk = hd_demo_sk AND cd_demo_sk = ss_cdemo_sk AND cd_marital_status = 'S' AND ss_sales_price BETWEEN 5 AND 100 AND hd_dep_count <= 2)
    OR (ss_hdemo_sk = hd_demo_sk AND cd_demo_sk = ss_cdemo_sk AND cd_marital_status = 'W' AND ss_sales_price BETWEEN 50 AND 200 AND hd_dep_count = 1))
  AND ((ss_addr_sk = ca_address_sk AND ca_country = 'United States' AND ca_state IN ('TN', 'OH') AND ss_net_profit BETWEEN -900 AND 2000)
    OR (ss_addr_sk = ca_address_sk AND ca_country = 'United States' AND ca_state IN ('GA', 'TX') AND ss_net_profit BETWEEN 50 AND 3000));

-- query: q14a -- products sold in all channels (INTERSECT), sums above the average of all sales, rolled up over three channels
WITH everywhere AS (
  SELECT i_item_sk AS item
  FROM item, (
    SELECT si.i_brand_id AS brand, si.i_class_id AS class, si.i_category_id AS category
    FROM store_sales, item si, date_dim sd
    WHERE ss_item_sk = si.i_item_sk AND ss_sold_date_sk = sd.d_date_sk AND sd.d_year BETWEEN 1999 AND 2001
    INTERSECT
    SELECT ci.i_brand_id, ci.i_class_id, ci.i_category_id
    FROM catalog_sales, item ci, date_dim cd
    WHERE cs_item_sk = ci.i_item_sk AND cs_sold_date_sk = cd.d_date_sk AND cd.d_year BETWEEN 1999 AND 2001
    INTERSECT
    SELECT wi.i_brand_id, wi.i_class_id, wi.i_category_id
    FROM web_sales, item wi, date_dim wd
    WHERE ws_item_sk = wi.i_item_sk AND ws_sold_date_sk = wd.d_date_sk AND wd.d_year BETWEEN 1999 AND 2001
  ) common
  WHERE i_brand_id = brand AND i_class_id = class AND i_category_id = category
), usual AS (
  SELECT AVG(amount * price) AS amount
  FROM (
    SELECT ss_quantity AS amount, ss_list_price AS price FROM store_sales, date_dim WHERE ss_sold_date_sk = d_date_sk AND d_year BETWEEN 1999 AND 2001
    UNION ALL
    SELECT cs_quantity, cs_list_price FROM catalog_sales, date_dim WHERE cs_sold_date_sk = d_date_sk AND d_year BETWEEN 1999 AND 2001
    UNION ALL
    SELECT ws_quantity, ws_list_price FROM web_sales, date_dim WHERE ws_sold_date_sk = d_date_sk AND d_year BETWEEN 1999 AND 2001
  ) sold
)
SELECT channel, i_brand_id, i_class_id, i_category_id, SUM(sales) AS sales, SUM(number) AS number
FROM (
  SELECT 'store' AS channel, i_brand_id, i_class_id, i_category_id, SUM(ss_quantity * ss_list_price) AS sales, COUNT(*) AS number
  FROM store_sales, item, date_dim
  WHERE ss_item_sk IN (SELECT item FROM everywhere) AND ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk AND d_year = 2000 AND d_moy = 2
  GROUP BY i_brand_id, i_class_id, i_category_id
  HAVING SUM(ss_quantity * ss_list_price) > (SELECT amount FROM usual)
  UNION ALL
  SELECT 'catalog', i_brand_id, i_class_id, i_category_id, SUM(cs_quantity * cs_list_price), COUNT(*)
  FROM catalog_sales, item, date_dim
  WHERE cs_item_sk IN (SELECT item FROM everywhere) AND cs_item_sk = i_item_sk AND cs_sold_date_sk = d_date_sk AND d_year = 2000 AND d_moy = 2
  GROUP BY i_brand_id, i_class_id, i_category_id
  HAVING SUM(cs_quantity * cs_list_price) > (SELECT amount FROM usual)
  UNION ALL
  SELECT 'web', i_brand_id, i_class_id, i_category_id, SUM(ws_quantity * ws_list_price), COUNT(*)
  FROM web_sales, item, date_dim
  WHERE ws_item_sk IN (SELECT item FROM everywhere) AND ws_item_sk = i_item_sk AND ws_sold_date_sk = d_date_sk AND d_year = 2000 AND d_moy = 2
  GROUP BY i_brand_id, i_class_id, i_category_id
  HAVING SUM(ws_quantity * ws_list_price) > (SELECT amount FROM usual)
) y
GROUP BY ROLLUP (channel, i_brand_id, i_class_id, i_category_id)
ORDER BY channel, i_brand_id, i_class_id, i_category_id
LIMIT 100;

-- query: q14b -- the same products, a week of one year beside that of the year before
WITH everywhere AS (
  SELECT i_item_sk AS item
  FROM item, (
    SELECT si.i_brand_id AS brand, si.i_class_id AS class, si.i_category_id AS category
    FROM store_sales, item si, date_dim sd
    WHERE ss_item_sk = si.i_item_sk AND ss_sold_date_sk = sd.d_date_sk AND sd.d_year BETWEEN 1999 AND 2001
    INTERSECT
    SELECT ci.i_brand_id, ci.i_class_id, ci.i_category_id
    FROM catalog_sales, item ci, date_dim cd
    WHERE cs_item_sk = ci.i_item_sk AND cs_sold_date_sk = cd.d_date_sk AND cd.d_year BETWEEN 1999 AND 2001
    INTERSECT
    SELECT wi.i_brand_id, wi.i_class_id, wi.i_category_id
    FROM web_sales, item wi, date_dim wd
    WHERE ws_item_sk = wi.i_item_sk AND ws_sold_date_sk = wd.d_date_sk AND wd.d_year BETWEEN 1999 AND 2001
  ) common
  WHERE i_brand_id = brand AND i_class_id = class AND i_category_id = category
), usual AS (
  SELECT AVG(amount * price) / 2 AS amount
  FROM (
    SELECT ss_quantity AS amount, ss_list_price AS price FROM store_sales, date_dim WHERE ss_sold_date_sk = d_date_sk AND d_year BETWEEN 1999 AND 2001
    UNION ALL
    SELECT cs_quantity, cs_list_price FROM catalog_sales, date_dim WHERE cs_sold_date_sk = d_date_sk AND d_year BETWEEN 1999 AND 2001
    UNION ALL
    SELECT ws_quantity, ws_list_price FROM web_sales, date_dim WHERE ws_sold_date_sk = d_date_sk AND d_year BETWEEN 1999 AND 2001
  ) sold
)
SELECT now.channel AS channel, now.i_brand_id AS brand, now.i_class_id AS class, now.i_category_id AS category, now.sales AS sales,
       now.number AS number, past.channel AS channel_before, past.sales AS sales_before, past.number AS number_before
FROM (
  SELECT 'store' AS channel, i_brand_id, i_class_id, i_category_id, SUM(ss_quantity * ss_list_price) AS sales, COUNT(*) AS number
  FROM store_sales, item, date_dim
  WHERE ss_item_sk IN (SELECT item FROM everywhere) AND ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk
    AND d_week_seq BETWEEN (SELECT d_week_seq FROM date_dim WHERE d_year = 2001 AND d_moy = 1 AND d_dom = 29)
                       AND (SELECT d_week_seq FROM date_dim WHERE d_year = 2001 AND d_moy = 2 AND d_dom = 5)
  GROUP BY i_brand_id, i_class_id, i_category_id
  HAVING SUM(ss_quantity * ss_list_price) > (SELECT amount FROM usual)
) now, (
  SELECT 'store' AS channel, i_brand_id, i_class_id, i_category_id, SUM(ss_quantity * ss_list_price) AS sales, COUNT(*) AS number
  FROM store_sales, item, date_dim
  WHERE ss_item_sk IN (SELECT item FROM everywhere) AND ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk
    AND d_week_seq BETWEEN (SELECT d_week_seq FROM date_dim WHERE d_year = 2000 AND d_moy = 1 AND d_dom = 31)
                       AND (SELECT d_week_seq FROM date_dim WHERE d_year = 2000 AND d_moy = 2 AND d_dom = 7)
  GROUP BY i_brand_id, i_class_id, i_category_id
  HAVING SUM(ss_quantity * ss_list_price) > (SELECT amount FROM usual)
) past
WHERE now.i_brand_id = past.i_brand_id AND now.i_class_id = past.i_class_id AND now.i_category_id = past.i_category_id
ORDER BY now.channel, now.i_brand_id, now.i_class_id, now.i_category_id
LIMIT 100;

-- query: q15 -- catalog sales by area, under alternatives of three tables
SELECT ca_zip, SUM(cs_sales_price) AS total
FROM catalog_sales, customer, customer_address, date_dim
WHERE cs_bill_customer_sk = c_customer_sk AND c_current_addr_sk = ca_address_sk
  AND (SUBSTR(ca_zip, 1, 5) IN ('85669', '86197') OR ca_state IN ('GA') OR cs_sales_price > 150)
  AND cs_sold_date_sk = d_date_sk AND d_qoy = 1 AND d_year = 2001
GROUP BY ca_zip
ORDER BY ca_zip
LIMIT 100;

-- query: q16 -- orders shipped from several warehouses and never returned: EXISTS with <>, NOT EXISTS, COUNT DISTINCT
SELECT COUNT(DISTINCT cs_order_number) AS `order count`, SUM(cs_ext_ship_cost) AS `total shipping cost`, SUM(cs_net_profit) AS `total net profit`
FROM catalog_sales cs1, date_dim, customer_address, call_center
WHERE d_date BETWEEN DATE '2000-01-01' AND (CAST('2000-01-01' AS DATE) + INTERVAL 360 DAYS) AND cs1.cs_ship_date_sk = d_date_sk
  AND cs1.cs_ship_addr_sk = ca_address_sk AND ca_state IN ('GA', 'OH', 'TN') AND cs1.cs_call_center_sk = cc_call_center_sk AND cc_county IN ('Walker County', 'Daviess County')
  AND EXISTS (SELECT * FROM catalog_sales cs2 WHERE cs1.cs_order_number = cs2.cs_order_number AND cs1.cs_warehouse_sk <> cs2.cs_warehouse_sk)
  AND NOT EXISTS (SELECT * FROM catalog_returns cr1 WHERE cs1.cs_order_number = cr1.cr_order_number)
ORDER BY COUNT(DISTINCT cs_order_number)
LIMIT 100;

-- query: q17 -- bought, returned and bought again by catalog: counts, averages and deviations
SELECT i_item_id, i_item_desc, s_state,
       COUNT(ss_quantity) AS n_sold, AVG(ss_quantity) AS avg_sold, STDDEV_SAMP(ss_quantity) AS dev_sold, STDDEV_SAMP(ss_quantity) / AVG(ss_quantity) AS cov_sold,
       COUNT(sr_return_quantity) AS n_back, AVG(sr_return_quantity) AS avg_back, STDDEV_SAMP(sr_return_quantity) AS dev_back, STDDEV_SAMP(sr_return_quantity) / AVG(sr_return_quantity) AS cov_back,
       COUNT(cs_quantity) AS n_again, AVG(cs_quantity) AS avg_again, STDDEV_SAMP(cs_quantity) / AVG(cs_quantity) AS dev_again, STDDEV_SAMP(cs_quantity) / AVG(cs_quantity) AS cov_again
FROM store_sales, store_returns, catalog_sales, date_dim d1, date_dim d2, date_dim d3, store, item
WHERE d1.d_quarter_name IN ('2000Q1', '2001Q1', '2000Q4') AND d1.d_date_sk = ss_sold_date_sk AND i_item_sk = ss_item_sk AND s_store_sk = ss_store_sk
  AND ss_customer_sk = sr_customer_sk AND ss_item_sk = sr_item_sk AND ss_ticket_number = sr_ticket_number AND sr_returned_date_sk = d2.d_date_sk
  AND d2.d_year IN (2000, 2001) AND sr_customer_sk = cs_bill_customer_sk AND sr_item_sk = cs_item_sk AND cs_sold_date_sk = d3.d_date_sk AND d3.d_year IN (1999, 2000, 2001)
GROUP BY i_item_id, i_item_desc, s_state
ORDER BY i_item_id, i_item_desc, s_state
LIMIT 100;

-- query: q18 -- averages of catalog sales rolled up over an item and three parts of an address
SELECT i_item_id, ca_country, ca_state, ca_county, AVG(CAST(cs_quantity AS DECIMAL(12,2))) AS agg1, AVG(CAST(cs_list_price AS DECIMAL(12,2))) AS agg2,
       AVG(CAST(cs_coupon_amt AS DECIMAL(12,2))) AS agg3, AVG(CAST(cs_sales_price AS DECIMAL(12,2))) AS agg4, AVG(CAST(cs_net_profit AS DECIMAL(12,2))) AS agg5,
       AVG(CAST(c_birth_year AS DECIMAL(12,2))) AS agg6, AVG(CAST(cd1.cd_dep_count AS DECIMAL(12,2))) AS agg7
FROM catalog_sales, customer_demographics cd1, customer_demographics cd2, customer, customer_address, date_dim, item
WHERE cs_sold_date_sk = d_date_sk AND cs_item_sk = i_item_sk AND cs_bill_cdemo_sk = cd1.cd_demo_sk AND cs_bill_customer_sk = c_customer_sk
  AND cd1.cd_gender = 'F' AND c_current_cdemo_sk = cd2.cd_demo_sk AND c_current_addr_sk = ca_address_sk AND c_birth_month IN (1, 2, 3, 5)
  AND d_year = 2000 AND ca_state IN ('TN', 'GA', 'OH')
GROUP BY ROLLUP (i_item_id, ca_country, ca_state, ca_county)
ORDER BY ca_country, ca_state, ca_county, i_item_id
LIMIT 100;

-- query: q19 -- brands bought far from home
SELECT i_brand_id AS brand_id, i_brand AS brand, i_manufact_id, i_manufact, SUM(ss_ext_sales_price) AS ext_price
FROM date_dim, store_sales, item, customer, customer_address, store
WHERE d_date_sk = ss_sold_date_sk AND ss_item_sk = i_item_sk AND i_manager_id IN (1, 2) AND d_moy = 2 AND d_year = 2000
  AND ss_customer_sk = c_customer_sk AND c_current_addr_sk = ca_address_sk AND SUBSTR(ca_zip, 1, 5) <> SUBSTR(s_zip, 1, 5) AND ss_store_sk = s_store_sk
GROUP BY i_brand, i_brand_id, i_manufact_id, i_manufact
ORDER BY ext_price DESC, i_brand, i_brand_id, i_manufact_id, i_manufact
LIMIT 3;

-- query: q20 -- as q12, by catalog
SELECT i_item_id, i_item_desc, i_category, i_class, i_current_price, SUM(cs_ext_sales_price) AS revenue,
       SUM(cs_ext_sales_price) * 100 / SUM(SUM(cs_ext_sales_price)) OVER (PARTITION BY i_class) AS ratio
FROM catalog_sales, item, date_dim
WHERE cs_item_sk = i_item_sk AND i_category IN ('Music', 'Books') AND cs_sold_date_sk = d_date_sk
  AND d_date BETWEEN CAST('2001-01-29' AS DATE) AND (CAST('2001-01-29' AS DATE) + INTERVAL 30 DAYS)
GROUP BY i_item_id, i_item_desc, i_category, i_class, i_current_price
ORDER BY i_category, i_class, i_item_id, i_item_desc, ratio
LIMIT 100;

-- query: q21 -- stock before and after a day, and a ratio between bounds
SELECT *
FROM (SELECT w_warehouse_name, i_item_id,
             SUM(CASE WHEN d_date < CAST('2000-03-11' AS DATE) THEN inv_quantity_on_hand ELSE 0 END) AS inv_before,
             SUM(CASE WHEN d_date >= CAST('2000-03-11' AS DATE) THEN inv_quantity_on_hand ELSE 0 END) AS inv_after
      FROM inventory, warehouse, item, date_dim
      WHERE i_current_price BETWEEN 5 AND 90 AND i_item_sk = inv_item_sk AND inv_warehouse_sk = w_warehouse_sk AND inv_date_sk = d_date_sk
        AND d_date BETWEEN (CAST('2000-03-11' AS DATE) - INTERVAL 300 DAYS) AND (CAST('2000-03-11' AS DATE) + INTERVAL 300 DAYS)
      GROUP BY w_warehouse_name, i_item_id) x
WHERE CASE WHEN inv_before > 0 THEN inv_after / inv_before ELSE NULL END BETWEEN 1.0 / 4.0 AND 4.0 / 1.0
ORDER BY w_warehouse_name, i_item_id
LIMIT 100;

-- query: q22 -- average stock rolled up over four columns, ordered by the average
SELECT i_product_name, i_brand, i_class, i_category, AVG(inv_quantity_on_hand) AS qoh
FROM inventory, date_dim, item
WHERE inv_date_sk = d_date_sk AND inv_item_sk = i_item_sk AND d_month_seq BETWEEN 1200 AND 1200 + 11
GROUP BY ROLLUP (i_product_name, i_brand, i_class, i_category)
ORDER BY qoh, i_product_name, i_brand, i_class, i_category
LIMIT 20;

-- query: q23a -- one sum over sales of popular items to the best customers; LIMIT over one row
WITH popular AS (
  SELECT SUBSTR(i_item_desc, 1, 30) AS words, i_item_sk AS item, d_date AS day, COUNT(*) AS times
  FROM store_sales, date_dim, item
  WHERE ss_sold_date_sk = d_date_sk AND ss_item_sk = i_item_sk AND d_year IN (2000, 2001)
  GROUP BY SUBSTR(i_item_desc, 1, 30), i_item_sk, d_date
  HAVING COUNT(*) > 0
), most AS (
  SELECT MAX(spent) AS spent
  FROM (SELECT c_customer_sk, SUM(ss_quantity * ss_sales_price) AS spent
        FROM store_sales, customer, date_dim
        WHERE ss_customer_sk = c_customer_sk AND ss_sold_date_sk = d_date_sk AND d_year IN (2000, 2001)
        GROUP BY c_customer_sk) each
), best AS (
  SELECT c_customer_sk AS who, SUM(ss_quantity * ss_sales_price) AS spent
  FROM store_sales, customer
  WHERE ss_customer_sk = c_customer_sk
  GROUP BY c_customer_sk
  HAVING SUM(ss_quantity * ss_sales_price) > 0.4 * (SELECT spent FROM most)
)
SELECT SUM(sales) AS total
FROM (
  SELECT cs_quantity * cs_list_price AS sales
  FROM catalog_sales, date_dim
  WHERE d_year = 2000 AND cs_sold_date_sk = d_date_sk
    AND cs_item_sk IN (SELECT item FROM popular) AND cs_bill_customer_sk IN (SELECT who FROM best)
  UNION ALL
  SELECT ws_quantity * ws_list_price
  FROM web_sales, date_dim
  WHERE d_year = 2000 AND ws_sold_date_sk = d_date_sk
    AND ws_item_sk IN (SELECT item FROM popular) AND ws_bill_customer_sk IN (SELECT who FROM best)
) sold
LIMIT 100;

-- query: q23b -- the same by customer
WITH popular AS (
  SELECT SUBSTR(i_item_desc, 1, 30) AS words, i_item_sk AS item, d_date AS day, COUNT(*) AS times
  FROM store_sales, date_dim, item
  WHERE ss_sold_date_sk = d_date_sk AND ss_item_sk = i_item_sk AND d_year IN (2000, 2001)
  GROUP BY SUBSTR(i_item_desc, 1, 30), i_item_sk, d_date
  HAVING COUNT(*) > 0
), most AS (
  SELECT MAX(spent) AS spent
  FROM (SELECT c_customer_sk, SUM(ss_quantity * ss_sales_price) AS spent
        FROM store_sales, customer, date_dim
        WHERE ss_customer_sk = c_customer_sk AND ss_sold_date_sk = d_date_sk AND d_year IN (2000, 2001)
        GROUP BY c_customer_sk) each
), best AS (
  SELECT c_customer_sk AS who, SUM(ss_quantity * ss_sales_price) AS spent
  FROM store_sales, customer
  WHERE ss_customer_sk = c_customer_sk
  GROUP BY c_customer_sk
  HAVING SUM(ss_quantity * ss_sales_price) > 0.4 * (SELECT spent FROM most)
)
SELECT c_last_name, c_first_name, sales
FROM (
  SELECT c_last_name, c_first_name, SUM(cs_quantity * cs_list_price) AS sales
  FROM catalog_sales, customer, date_dim
  WHERE d_year = 2000 AND cs_sold_date_sk = d_date_sk AND cs_bill_customer_sk = c_customer_sk
    AND cs_item_sk IN (SELECT item FROM popular) AND cs_bill_customer_sk IN (SELECT who FROM best)
  GROUP BY c_last_name, c_first_name
  UNION ALL
  SELECT c_last_name, c_first_name, SUM(ws_quantity * ws_list_price)
  FROM web_sales, customer, date_dim
  WHERE d_year = 2000 AND ws_sold_date_sk = d_date_sk AND ws_bill_customer_sk = c_customer_sk
    AND ws_item_sk IN (SELECT item FROM popular) AND ws_bill_customer_sk IN (SELECT who FROM best)
  GROUP BY c_last_name, c_first_name
) sold
ORDER BY c_last_name, c_first_name, sales
LIMIT 100;

-- query: q24a -- what customers of one colour paid beyond a part of the average: a CTE grouped twice
WITH paid AS (
  SELECT c_last_name, c_first_name, s_store_name, ca_state, s_state, i_color, i_current_price, i_manager_id, i_units, i_size, SUM(ss_net_paid) AS net
  FROM store_sales, store_returns, store, item, customer, customer_address
  WHERE ss_ticket_number = sr_ticket_number AND ss_item_sk = sr_item_sk AND ss_customer_sk = c_customer_sk AND ss_item_sk = i_item_sk AND ss_store_sk = s_store_sk
    AND c_current_addr_sk = ca_address_sk AND c_birth_country <> UPPER(ca_country) AND s_market_id IN (5, 6)
  GROUP BY c_last_name, c_first_name, s_store_name, ca_state, s_state, i_color, i_current_price, i_manager_id, i_units, i_size
)
SELECT c_last_name, c_first_name, s_store_name, SUM(net) AS paid
FROM paid
WHERE i_color IN ('slate', 'powder')
GROUP BY c_last_name, c_first_name, s_store_name
HAVING SUM(net) > (SELECT 0.05 * AVG(net) FROM paid)
ORDER BY c_last_name, c_first_name, s_store_name;

-- query: q24b -- the same for other colours
WITH paid AS (
  SELECT c_last_name, c_first_name, s_store_name, ca_state, s_state, i_color, i_current_price, i_manager_id, i_units, i_size, SUM(ss_net_paid) AS net
  FROM store_sales, store_returns, store, item, customer, customer_address
  WHERE ss_ticket_number = sr_ticket_number AND ss_item_sk = sr_item_sk AND ss_customer_sk = c_customer_sk AND ss_item_sk = i_item_sk AND ss_store_sk = s_store_sk
    AND c_current_addr_sk = ca_address_sk AND c_birth_country <> UPPER(ca_country) AND s_market_id IN (5, 6)
  GROUP BY c_last_name, c_first_name, s_store_name, ca_state, s_state, i_color, i_current_price, i_manager_id, i_units, i_size
)
SELECT c_last_name, c_first_name, s_store_name, SUM(net) AS paid
FROM paid
WHERE i_color IN ('orchid', 'blanched')
GROUP BY c_last_name, c_first_name, s_store_name
HAVING SUM(net) > (SELECT 0.05 * AVG(net) FROM paid)
ORDER BY c_last_name, c_first_name, s_store_name;

-- query: q25 -- as q17: profits and losses by item and store
SELECT i_item_id, i_item_desc, s_store_id, s_store_name, SUM(ss_net_profit) AS profit, SUM(sr_net_loss) AS loss, SUM(cs_net_profit) AS again
FROM store_sales, store_returns, catalog_sales, date_dim d1, date_dim d2, date_dim d3, store, item
WHERE d1.d_year IN (2000, 2001) AND d1.d_date_sk = ss_sold_date_sk AND i_item_sk = ss_item_sk AND s_store_sk = ss_store_sk
  AND ss_customer_sk = sr_customer_sk AND ss_item_sk = sr_item_sk AND ss_ticket_number = sr_ticket_number AND sr_returned_date_sk = d2.d_date_sk AND d2.d_moy BETWEEN 1 AND 12
  AND d2.d_year IN (2000, 2001) AND sr_customer_sk = cs_bill_customer_sk AND sr_item_sk = cs_item_sk AND cs_sold_date_sk = d3.d_date_sk AND d3.d_moy BETWEEN 1 AND 12
GROUP BY i_item_id, i_item_desc, s_store_id, s_store_name
ORDER BY i_item_id, i_item_desc, s_store_id, s_store_name
LIMIT 2;

-- query: q26 -- as q07, by catalog
SELECT i_item_id, AVG(cs_quantity) AS agg1, AVG(cs_list_price) AS agg2, AVG(cs_coupon_amt) AS agg3, AVG(cs_sales_price) AS agg4
FROM catalog_sales, customer_demographics, date_dim, item, promotion
WHERE cs_sold_date_sk = d_date_sk AND cs_item_sk = i_item_sk AND cs_bill_cdemo_sk = cd_demo_sk AND cs_promo_sk = p_promo_sk
  AND cd_gender = 'F' AND cd_marital_status IN ('S', 'W') AND (p_channel_email = 'N' OR p_channel_event = 'N') AND d_year = 2000
GROUP BY i_item_id
ORDER BY i_item_id
LIMIT 4;

-- query: q27 -- averages rolled up with GROUPING
SELECT i_item_id, s_state, GROUPING(s_state) AS g_state, AVG(ss_quantity) AS agg1, AVG(ss_list_price) AS agg2, AVG(ss_coupon_amt) AS agg3, AVG(ss_sales_price) AS agg4
FROM store_sales, customer_demographics, date_dim, store, item
WHERE ss_sold_date_sk = d_date_sk AND ss_item_sk = i_item_sk AND ss_store_sk = s_store_sk AND ss_cdemo_sk = cd_demo_sk
  AND cd_gender = 'F' AND d_year IN (2000, 2001) AND s_state IN ('GA', 'OH', 'TN')
GROUP BY ROLLUP (i_item_id, s_state)
ORDER BY i_item_id, s_state
LIMIT 100;

-- query: q28 -- six one-row aggregates side by side
SELECT *
FROM (SELECT AVG(ss_list_price) AS a1, COUNT(ss_list_price) AS n1, COUNT(DISTINCT ss_list_price) AS d1 FROM store_sales
      WHERE ss_quantity BETWEEN 0 AND 6 AND (ss_list_price BETWEEN 20 AND 60 OR ss_coupon_amt BETWEEN 5 AND 90 OR ss_wholesale_cost BETWEEN 57 AND 77)) b1
CROSS JOIN
     (SELECT AVG(ss_list_price) AS a2, COUNT(ss_list_price) AS n2, COUNT(DISTINCT ss_list_price) AS d2 FROM store_sales
      WHERE ss_quantity BETWEEN 7 AND 12 AND (ss_list_price BETWEEN 90 AND 120 OR ss_coupon_amt BETWEEN 20 AND 80 OR ss_wholesale_cost BETWEEN 31 AND 51)) b2
CROSS JOIN
     (SELECT AVG(ss_list_price) AS a3, COUNT(ss_list_price) AS n3, COUNT(DISTINCT ss_list_price) AS d3 FROM store_sales
      WHERE ss_quantity BETWEEN 13 AND 18 AND (ss_list_price BETWEEN 142 AND 152 OR ss_coupon_amt BETWEEN 30 AND 99 OR ss_wholesale_cost BETWEEN 8 AND 40)) b3,
     (SELECT AVG(ss_list_price) AS a4, COUNT(ss_list_price) AS n4, COUNT(DISTINCT ss_list_price) AS d4 FROM store_sales
      WHERE ss_quantity BETWEEN 19 AND 24 AND (ss_list_price BETWEEN 15 AND 135 OR ss_coupon_amt BETWEEN 1 AND 71 OR ss_wholesale_cost BETWEEN 38 AND 58)) b4,
     (SELECT AVG(ss_list_price) AS a5, COUNT(ss_list_price) AS n5, COUNT(DISTINCT ss_list_price) AS d5 FROM store_sales
      WHERE ss_quantity BETWEEN 25 AND 32 AND (ss_list_price BETWEEN 62 AND 122 OR ss_coupon_amt BETWEEN 3 AND 49 OR ss_wholesale_cost BETWEEN 17 AND 37)) b5,
     (SELECT AVG(ss_list_price) AS a6, COUNT(ss_list_price) AS n6, COUNT(DISTINCT ss_list_price) AS d6 FROM store_sales
      WHERE ss_quantity BETWEEN 33 AND 40 AND (ss_list_price BETWEEN 28 AND 128 OR ss_coupon_amt BETWEEN 5 AND 61 OR ss_wholesale_cost BETWEEN 33 AND 53)) b6
LIMIT 100;

-- query: q29 -- as q25: quantities
SELECT i_item_id, i_item_desc, s_store_id, s_store_name, SUM(ss_quantity) AS sold, SUM(sr_return_quantity) AS back, SUM(cs_quantity) AS again
FROM store_sales, store_returns, catalog_sales, date_dim d1, date_dim d2, date_dim d3, store, item
WHERE d1.d_moy BETWEEN 1 AND 12 AND d1.d_year >= 1999 AND d1.d_date_sk = ss_sold_date_sk AND i_item_sk = ss_item_sk AND s_store_sk = ss_store_sk
  AND ss_customer_sk = sr_customer_sk AND ss_item_sk = sr_item_sk AND ss_ticket_number = sr_ticket_number AND sr_returned_date_sk = d2.d_date_sk
  AND d2.d_moy BETWEEN 1 AND 1 + 11 AND d2.d_year >= 1999 AND sr_customer_sk = cs_bill_customer_sk AND sr_item_sk = cs_item_sk
  AND cs_sold_date_sk = d3.d_date_sk AND d3.d_year IN (1999, 1999 + 1, 1999 + 2)
GROUP BY i_item_id, i_item_desc, s_store_id, s_store_name
ORDER BY i_item_id, i_item_desc, s_store_id, s_store_name
LIMIT 100;

-- query: q30 -- as q01, of web returns by state
WITH returned AS (
  SELECT wr_returning_customer_sk AS customer, ca_state AS state, SUM(wr_return_amt) AS amount
  FROM web_returns, date_dim, customer_address
  WHERE wr_returned_date_sk = d_date_sk AND d_year IN (2000, 2001) AND wr_returning_addr_sk = ca_address_sk
  GROUP BY wr_returning_customer_sk, ca_state
)
SELECT c_customer_id, c_salutation, c_first_name, c_last_name, c_preferred_cust_flag, c_birth_day, c_birth_month, c_birth_year, c_birth_country,
       c_login, c_email_address, c_last_review_date, amount
FROM returned r, customer_address, customer
WHERE r.amount > (SELECT AVG(amount) * 1.2 FROM returned other WHERE r.state = other.state)
  AND ca_address_sk = c_current_addr_sk AND ca_state IN ('GA', 'TN') AND r.customer = c_customer_sk
ORDER BY c_customer_id, c_salutation, c_first_name, c_last_name, c_preferred_cust_flag, c_birth_day, c_birth_month, c_birth_year, c_birth_country,
         c_login, c_email_address, c_last_review_date, amount
LIMIT 100;

-- query: q31 -- counties whose web sales grew faster than their store sales from quarter to quarter: two CTEs read three times each
WITH shops AS (
  SELECT ca_county AS county, d_qoy AS quarter, d_year AS year, SUM(ss_ext_sales_price) AS sales
  FROM store_sales, date_dim, customer_address
  WHERE ss_sold_date_sk = d_date_sk AND ss_addr_sk = ca_address_sk
  GROUP BY ca_county, d_qoy, d_year
), web AS (
  SELECT ca_county AS county, d_qoy AS quarter, d_year AS year, SUM(ws_ext_sales_price) AS sales
  FROM web_sales, date_dim, customer_address
  WHERE ws_sold_date_sk = d_date_sk AND ws_bill_addr_sk = ca_address_sk
  GROUP BY ca_county, d_qoy, d_year
)
SELECT s1.county, s1.year, w2.sales / w1.sales AS web_q1_q2, s2.sales / s1.sales AS store_q1_q2, w3.sales / w2.sales AS web_q2_q3, s3.sales / s2.sales AS store_q2_q3
FROM shops s1, shops s2, shops s3, web w1, web w2, web w3
WHERE s1.quarter = 1 AND s1.year = 2000 AND s1.county = s2.county AND s2.quarter = 4 AND s2.year = 2000 AND s2.county = s3.county AND s3.quarter = 1 AND s3.year = 2001
  AND s1.county = w1.county AND w1.quarter = 1 AND w1.year = 2000 AND w1.county = w2.county AND w2.quarter = 4 AND w2.year = 2000
  AND w1.county = w3.county AND w3.quarter = 1 AND w3.year = 2001
  AND (s3.sales > 0 OR CASE WHEN w1.sales > 0 THEN w2.sales / w1.sales ELSE NULL END > CASE WHEN s1.sales > 0 THEN s2.sales / s1.sales ELSE NULL END
       OR CASE WHEN w2.sales > 0 THEN w3.sales / w2.sales ELSE NULL END > CASE WHEN s2.sales > 0 THEN s3.sales / s2.sales ELSE NULL END)
ORDER BY s1.county;

-- query: q32 -- a sum of what exceeds a correlated average; LIMIT without ORDER BY over one row
SELECT SUM(cs_ext_discount_amt) AS `excess discount`
FROM catalog_sales, item, date_dim
WHERE i_manufact_id IN (1, 2, 3, 4) AND i_item_sk = cs_item_sk AND d_date_sk = cs_sold_date_sk
  AND d_date BETWEEN DATE '2000-01-27' AND (CAST('2000-01-27' AS DATE) + INTERVAL 90 DAYS)
  AND cs_ext_discount_amt > (
    SELECT 1.3 * AVG(cs_ext_discount_amt)
    FROM catalog_sales, date_dim
    WHERE cs_item_sk = i_item_sk AND d_date BETWEEN DATE '2000-01-27' AND (CAST('2000-01-27' AS DATE) + INTERVAL 90 DAYS)
      AND d_date_sk = cs_sold_date_sk)
LIMIT 100;

-- query: q33 -- makers of one category in three channels
WITH shops AS (
  SELECT i_manufact_id, SUM(ss_ext_sales_price) AS total FROM store_sales, date_dim, customer_address, item
  WHERE i_manufact_id IN (SELECT i_manufact_id FROM item WHERE i_category IN ('Books')) AND ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk
    AND d_year = 2000 AND d_moy = 2 AND ss_addr_sk = ca_address_sk AND ca_gmt_offset = -5
  GROUP BY i_manufact_id
), calls AS (
  SELECT i_manufact_id, SUM(cs_ext_sales_price) AS total FROM catalog_sales, date_dim, customer_address, item
  WHERE i_manufact_id IN (SELECT i_manufact_id FROM item WHERE i_category IN ('Books')) AND cs_item_sk = i_item_sk AND cs_sold_date_sk = d_date_sk
    AND d_year = 2000 AND d_moy = 2 AND cs_bill_addr_sk = ca_address_sk AND ca_gmt_offset = -5
  GROUP BY i_manufact_id
), web AS (
  SELECT i_manufact_id, SUM(ws_ext_sales_price) AS total FROM web_sales, date_dim, customer_address, item
  WHERE i_manufact_id IN (SELECT i_manufact_id FROM item WHERE i_category IN ('Books')) AND ws_item_sk = i_item_sk AND ws_sold_date_sk = d_date_sk
    AND d_year = 2000 AND d_moy = 2 AND ws_bill_addr_sk = ca_address_sk AND ca_gmt_offset = -5
  GROUP BY i_manufact_id
)
SELECT i_manufact_id, SUM(total) AS sales
FROM (SELECT * FROM shops UNION ALL SELECT * FROM calls UNION ALL SELECT * FROM web) x
GROUP BY i_manufact_id
ORDER BY sales, i_manufact_id
LIMIT 100;

-- query: q34 -- customers of tickets with several items
SELECT c_last_name, c_first_name, c_salutation, c_preferred_cust_flag, ss_ticket_number, cnt
FROM (SELECT ss_ticket_number, ss_customer_sk, COUNT(*) AS cnt
      FROM store_sales, date_dim, store, household_demographics
      WHERE ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk AND ss_hdemo_sk = hd_demo_sk
        AND (d_dom BETWEEN 1 AND 7 OR d_dom BETWEEN 23 AND 31) AND hd_buy_potential IN ('>10000', 'Unknown', '0-500') AND hd_vehicle_count > 0
        AND CASE WHEN hd_vehicle_count > 0 THEN hd_dep_count / hd_vehicle_count ELSE NULL END > 0.2
        AND d_year IN (1999, 1999 + 1, 1999 + 2) AND s_county IN ('Walker County', 'Daviess County', 'Ziebach County')
      GROUP BY ss_ticket_number, ss_customer_sk) dn, customer
WHERE ss_customer_sk = c_customer_sk AND cnt BETWEEN 2 AND 5
ORDER BY c_last_name, c_first_name, c_salutation, c_preferred_cust_flag DESC, ss_ticket_number;

-- query: q35 -- as q10, with other aggregates
SELECT ca_state, cd_gender, cd_marital_status, cd_dep_count, COUNT(*) AS cnt1, MIN(cd_dep_count) AS a1, MAX(cd_dep_count) AS b1, AVG(cd_dep_count) AS c1,
       cd_dep_employed_count, COUNT(*) AS cnt2, MIN(cd_dep_employed_count) AS a2, MAX(cd_dep_employed_count) AS b2, AVG(cd_dep_employed_count) AS c2,
       cd_dep_college_count, COUNT(*) AS cnt3, MIN(cd_dep_college_count), MAX(cd_dep_college_count), AVG(cd_dep_college_count)
FROM customer c, customer_address ca, customer_demographics
WHERE c.c_current_addr_sk = ca.ca_address_sk AND cd_demo_sk = c.c_current_cdemo_sk
  AND EXISTS (SELECT * FROM store_sales, date_dim WHERE c.c_customer_sk = ss_customer_sk AND ss_sold_date_sk = d_date_sk AND d_year = 2001 AND d_qoy < 4)
  AND (EXISTS (SELECT * FROM web_sales, date_dim WHERE c.c_customer_sk = ws_bill_customer_sk AND ws_sold_date_sk = d_date_sk AND d_year = 2001 AND d_qoy < 4)
       OR EXISTS (SELECT * FROM catalog_sales, date_dim WHERE c.c_customer_sk = cs_ship_customer_sk AND cs_sold_date_sk = d_date_sk AND d_year = 2001 AND d_qoy < 4))
GROUP BY ca_state, cd_gender, cd_marital_status, cd_dep_count, cd_dep_employed_count, cd_dep_college_count
ORDER BY ca_state, cd_gender, cd_marital_status, cd_dep_count, cd_dep_employed_count, cd_dep_college_count
LIMIT 100;

-- query: q36 -- margins rolled up and ranked among their level: a window over GROUPING and a ratio of sums
SELECT SUM(ss_net_profit) / SUM(ss_ext_sales_price) AS margin, i_category, i_class, GROUPING(i_category) + GROUPING(i_class) AS level,
       RANK() OVER (PARTITION BY GROUPING(i_category) + GROUPING(i_class), CASE WHEN GROUPING(i_class) = 0 THEN i_category END
                    ORDER BY SUM(ss_net_profit) / SUM(ss_ext_sales_price) ASC) AS place
FROM store_sales, date_dim d1, item, store
WHERE d1.d_year = 2000 AND d1.d_date_sk = ss_sold_date_sk AND i_item_sk = ss_item_sk AND s_store_sk = ss_store_sk AND s_state IN ('GA', 'OH', 'TN')
GROUP BY ROLLUP (i_category, i_class)
ORDER BY level DESC, CASE WHEN level = 0 THEN i_category END, place
LIMIT 100;

-- query: q37 -- items in stock in some quantity that were sold by catalog: grouping as DISTINCT
SELECT i_item_id, i_item_desc, i_current_price
FROM item, inventory, date_dim, catalog_sales
WHERE i_current_price BETWEEN 10 AND 10 + 60 AND inv_item_sk = i_item_sk AND d_date_sk = inv_date_sk
  AND d_date BETWEEN CAST('2000-01-31' AS DATE) AND (CAST('2000-01-31' AS DATE) + INTERVAL 60 DAYS)
  AND i_manufact_id IN (1, 2, 4, 5) AND inv_quantity_on_hand BETWEEN 100 AND 500 AND cs_item_sk = i_item_sk
GROUP BY i_item_id, i_item_desc, i_current_price
ORDER BY i_item_id
LIMIT 3;

-- query: q38 -- how many customers bought on the same day in three channels: INTERSECT
SELECT COUNT(*) AS customers
FROM (
  SELECT DISTINCT c_last_name, c_first_name, d_moy FROM store_sales, date_dim, customer
  WHERE ss_sold_date_sk = d_date_sk AND ss_customer_sk = c_customer_sk AND d_month_seq BETWEEN 1188 AND 1188 + 35
  INTERSECT
  SELECT DISTINCT c_last_name, c_first_name, d_moy FROM catalog_sales, date_dim, customer
  WHERE cs_sold_date_sk = d_date_sk AND cs_bill_customer_sk = c_customer_sk AND d_month_seq BETWEEN 1188 AND 1188 + 35
  INTERSECT
  SELECT DISTINCT c_last_name, c_first_name, d_moy FROM web_sales, date_dim, customer
  WHERE ws_sold_date_sk = d_date_sk AND ws_bill_customer_sk = c_customer_sk AND d_month_seq BETWEEN 1188 AND 1188 + 35
) hot
LIMIT 100;

-- query: q39a -- stock that varies much from month to month: deviation over mean, the CTE joined to itself
WITH varying AS (
  SELECT w_warehouse_name, w_warehouse_sk, i_item_sk, d_moy, dev, mean, CASE mean WHEN 0 THEN NULL ELSE dev / mean END AS cov
  FROM (SELECT w_warehouse_name, w_warehouse_sk, i_item_sk, d_moy, STDDEV_SAMP(inv_quantity_on_hand) AS dev, AVG(inv_quantity_on_hand) AS mean
        FROM inventory, item, warehouse, date_dim
        WHERE inv_item_sk = i_item_sk AND inv_warehouse_sk = w_warehouse_sk AND inv_date_sk = d_date_sk AND d_year IN (2000, 2001)
        GROUP BY w_warehouse_name, w_warehouse_sk, i_item_sk, d_moy) each
  WHERE CASE mean WHEN 0 THEN 0 ELSE dev / mean END > 0.1
)
SELECT a.w_warehouse_sk AS wh1, a.i_item_sk AS item1, a.d_moy AS moy1, a.mean AS mean1, a.cov AS cov1, b.w_warehouse_sk AS wh2, b.i_item_sk AS item2, b.d_moy AS moy2, b.mean AS mean2, b.cov AS cov2
FROM varying a, varying b
WHERE a.i_item_sk = b.i_item_sk AND a.w_warehouse_sk = b.w_warehouse_sk AND a.d_moy = 1 AND b.d_moy = 1 + 1
ORDER BY wh1, item1, moy1, mean1, cov1, moy2, mean2, cov2;

-- query: q39b -- the same, only where it varies very much
WITH varying AS (
  SELECT w_warehouse_name, w_warehouse_sk, i_item_sk, d_moy, dev, mean, CASE mean WHEN 0 THEN NULL ELSE dev / mean END AS cov
  FROM (SELECT w_warehouse_name, w_warehouse_sk, i_item_sk, d_moy, STDDEV_SAMP(inv_quantity_on_hand) AS dev, AVG(inv_quantity_on_hand) AS mean
        FROM inventory, item, warehouse, date_dim
        WHERE inv_item_sk = i_item_sk AND inv_warehouse_sk = w_warehouse_sk AND inv_date_sk = d_date_sk AND d_year IN (2000, 2001)
        GROUP BY w_warehouse_name, w_warehouse_sk, i_item_sk, d_moy) each
  WHERE CASE mean WHEN 0 THEN 0 ELSE dev / mean END > 0.1
)
SELECT a.w_warehouse_sk AS wh1, a.i_item_sk AS item1, a.d_moy AS moy1, a.mean AS mean1, a.cov AS cov1, b.w_warehouse_sk AS wh2, b.i_item_sk AS item2, b.d_moy AS moy2, b.mean AS mean2, b.cov AS cov2
FROM varying a, varying b
WHERE a.i_item_sk = b.i_item_sk AND a.w_warehouse_sk = b.w_warehouse_sk AND a.d_moy = 1 AND b.d_moy = 1 + 1 AND a.cov > 0.2
ORDER BY wh1, item1, moy1, mean1, cov1, moy2, mean2, cov2;

-- query: q40 -- catalog sales less what came back, before and after a day: a LEFT JOIN and sums of CASEs
SELECT w_state, i_item_id,
       SUM(CASE WHEN d_date < CAST('2000-02-05' AS DATE) THEN cs_sales_price - COALESCE(cr_refunded_cash, 0) ELSE 0 END) AS sales_before,
       SUM(CASE WHEN d_date >= CAST('2000-02-05' AS DATE) THEN cs_sales_price - COALESCE(cr_refunded_cash, 0) ELSE 0 END) AS sales_after
FROM catalog_sales LEFT OUTER JOIN catalog_returns ON cs_order_number = cr_order_number AND cs_item_sk = cr_item_sk, warehouse, item, date_dim
WHERE i_current_price BETWEEN 1 AND 90 AND i_item_sk = cs_item_sk AND cs_warehouse_sk = w_warehouse_sk AND cs_sold_date_sk = d_date_sk
  AND d_date BETWEEN (CAST('2000-02-05' AS DATE) - INTERVAL 30 DAYS) AND (CAST('2000-02-05' AS DATE) + INTERVAL 30 DAYS)
GROUP BY w_state, i_item_id
ORDER BY w_state, i_item_id
LIMIT 6;

-- query: q41 -- products of makers who have some item of one kind or another: a correlated count under ORs
SELECT DISTINCT i_product_name
FROM item i1
WHERE i_manufact_id BETWEEN 1 AND 1 + 3
  AND (SELECT COUNT(*) AS cnt FROM item
       WHERE (i_manufact = i1.i_manufact AND ((i_category = 'Books' AND (i_color = 'slate' OR i_color = 'powder') AND (i_units = 'Ton' OR i_units = 'Each') AND (i_size = 'small' OR i_size = 'large'))
                                           OR (i_category = 'Music' AND (i_color = 'blanched' OR i_color = 'orchid') AND (i_units = 'Each' OR i_units = 'Dozen') AND (i_size = 'medium' OR i_size = 'N/A'))))
          OR (i_manufact = i1.i_manufact AND ((i_category = 'Sports' AND (i_color = 'powder' OR i_color = 'orchid') AND (i_units = 'Dozen' OR i_units = 'Ton') AND (i_size = 'large' OR i_size = 'N/A'))
                                           OR (i_category = 'Music' AND (i_color = 'slate' OR i_color = 'powder') AND (i_units = 'Each' OR i_units = 'Ton') AND (i_size = 'small' OR i_size = 'large'))))) > 0
ORDER BY i_product_name
LIMIT 5;

-- query: q42 -- categories of a month
SELECT dt.d_year, item.i_category_id, item.i_category, SUM(ss_ext_sales_price) AS total
FROM date_dim dt, store_sales, item
WHERE dt.d_date_sk = store_sales.ss_sold_date_sk AND store_sales.ss_item_sk = item.i_item_sk AND item.i_manager_id IN (1, 3) AND dt.d_moy = 2 AND dt.d_year = 2000
GROUP BY dt.d_year, item.i_category_id, item.i_category
ORDER BY SUM(ss_ext_sales_price) DESC, dt.d_year, item.i_category_id, item.i_category
LIMIT 2;

-- query: q43 -- sales of stores by day of the week
SELECT s_store_name, s_store_id,
       SUM(CASE WHEN d_day_name = 'Sunday' THEN ss_sales_price ELSE NULL END) AS sun, SUM(CASE WHEN d_day_name = 'Monday' THEN ss_sales_price ELSE NULL END) AS mon,
       SUM(CASE WHEN d_day_name = 'Tuesday' THEN ss_sales_price ELSE NULL END) AS tue, SUM(CASE WHEN d_day_name = 'Wednesday' THEN ss_sales_price ELSE NULL END) AS wed,
       SUM(CASE WHEN d_day_name = 'Thursday' THEN ss_sales_price ELSE NULL END) AS thu, SUM(CASE WHEN d_day_name = 'Friday' THEN ss_sales_price ELSE NULL END) AS fri,
       SUM(CASE WHEN d_day_name = 'Saturday' THEN ss_sales_price ELSE NULL END) AS sat
FROM date_dim, store_sales, store
WHERE d_date_sk = ss_sold_date_sk AND s_store_sk = ss_store_sk AND s_gmt_offset IN (-5, -6) AND d_year = 2000
GROUP BY s_store_name, s_store_id
ORDER BY s_store_name, s_store_id, sun, mon, tue, wed, thu, fri, sat
LIMIT 100;

-- query: q44 -- the best and worst items of a store beside each other: two rankings joined on the place
SELECT up.place, i1.i_product_name AS best, i2.i_product_name AS worst
FROM (SELECT * FROM (SELECT item_sk, RANK() OVER (ORDER BY profit ASC) AS place
                     FROM (SELECT ss_item_sk AS item_sk, AVG(ss_net_profit) AS profit FROM store_sales WHERE ss_store_sk = 2 GROUP BY ss_item_sk
                           HAVING AVG(ss_net_profit) > 0.9 * (SELECT AVG(ss_net_profit) - 2000 AS profit FROM store_sales WHERE ss_store_sk = 2 AND (ss_promo_sk IS NULL OR ss_addr_sk IS NULL) GROUP BY ss_store_sk)) v1) v11
      WHERE place < 11) up,
     (SELECT * FROM (SELECT item_sk, RANK() OVER (ORDER BY profit DESC) AS place
                     FROM (SELECT ss_item_sk AS item_sk, AVG(ss_net_profit) AS profit FROM store_sales WHERE ss_store_sk = 2 GROUP BY ss_item_sk
                           HAVING AVG(ss_net_profit) > 0.9 * (SELECT AVG(ss_net_profit) - 2000 AS profit FROM store_sales WHERE ss_store_sk = 2 AND (ss_promo_sk IS NULL OR ss_addr_sk IS NULL) GROUP BY ss_store_sk)) v2) v21
      WHERE place < 11) down,
     item i1, item i2
WHERE up.place = down.place AND i1.i_item_sk = up.item_sk AND i2.i_item_sk = down.item_sk
ORDER BY up.place
LIMIT 100;

-- query: q45 -- web sales of some areas or of some items: IN under OR
SELECT ca_zip, ca_city, SUM(ws_sales_price) AS total
FROM web_sales, customer, customer_address, date_dim, item
WHERE ws_bill_customer_sk = c_customer_sk AND c_current_addr_sk = ca_address_sk AND ws_item_sk = i_item_sk
  AND (SUBSTR(ca_zip, 1, 5) IN ('85669', '86197') OR i_item_id IN (SELECT i_item_id FROM item WHERE i_item_sk IN (2, 3, 5, 7)))
  AND ws_sold_date_sk = d_date_sk AND d_qoy = 1 AND d_year = 2000
GROUP BY ca_zip, ca_city
ORDER BY ca_zip, ca_city
LIMIT 100;

-- query: q46 -- tickets bought in another city than the customer's
SELECT c_last_name, c_first_name, ca_city, bought_city, ss_ticket_number, amt, profit
FROM (SELECT ss_ticket_number, ss_customer_sk, ca_city AS bought_city, SUM(ss_coupon_amt) AS amt, SUM(ss_net_profit) AS profit
      FROM store_sales, date_dim, store, household_demographics, customer_address
      WHERE ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk AND ss_hdemo_sk = hd_demo_sk AND ss_addr_sk = ca_address_sk
        AND (hd_dep_count = 4 OR hd_vehicle_count IN (1, 2)) AND d_dow IN (6, 0, 1, 2) AND d_year IN (1999, 1999 + 1, 1999 + 2) AND s_city IN ('Fairview', 'Midway', 'Oakland', 'Salem')
      GROUP BY ss_ticket_number, ss_customer_sk, ss_addr_sk, ca_city) dn, customer, customer_address now
WHERE ss_customer_sk = c_customer_sk AND c_current_addr_sk = now.ca_address_sk AND now.ca_city <> bought_city
ORDER BY c_last_name, c_first_name, ca_city
LIMIT 5;

-- query: q47 -- monthly sales beside those of the months before and after: a ranked CTE joined to itself
WITH monthly AS (
  SELECT i_category, i_brand, s_store_name, s_company_name, d_year, d_moy, SUM(ss_sales_price) AS sales,
         AVG(SUM(ss_sales_price)) OVER (PARTITION BY i_category, i_brand, s_store_name, s_company_name, d_year) AS usual,
         RANK() OVER (PARTITION BY i_category, i_brand, s_store_name, s_company_name ORDER BY d_year, d_moy) AS place
  FROM item, store_sales, date_dim, store
  WHERE ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk
    AND (d_year = 2000 OR (d_year = 1999 AND d_moy = 12) OR (d_year = 2001 AND d_moy <= 2))
  GROUP BY i_category, i_brand, s_store_name, s_company_name, d_year, d_moy
), beside AS (
  SELECT m.i_category, m.d_year, m.d_moy, m.usual, m.sales,
         before.sales AS sales_before, after.sales AS sales_after
  FROM monthly m, monthly before, monthly after
  WHERE m.i_category = before.i_category AND m.i_category = after.i_category AND m.i_brand = before.i_brand AND m.i_brand = after.i_brand
    AND m.s_store_name = before.s_store_name AND m.s_store_name = after.s_store_name
    AND m.s_company_name = before.s_company_name AND m.s_company_name = after.s_company_name
    AND m.place = before.place + 1 AND m.place = after.place - 1
)
SELECT * FROM beside
WHERE d_year = 2000 AND usual > 0 AND CASE WHEN usual > 0 THEN ABS(sales - usual) / usual ELSE NULL END > 0.1
ORDER BY sales - usual, sales_after
LIMIT 100;

-- query: q48 -- a sum under two groups of alternatives
SELECT SUM(ss_quantity) AS total
FROM store_sales, store, customer_demographics, customer_address, date_dim
WHERE s_store_sk = ss_store_sk AND ss_sold_date_sk = d_date_sk AND d_year = 2000
  AND ((cd_demo_sk = ss_cdemo_sk AND cd_marital_status = 'M' AND ss_sales_price BETWEEN 10 AND 150)
    OR (cd_demo_sk = ss_cdemo_sk AND cd_marital_status = 'D' AND cd_education_status = 'Unknown' AND ss_sales_price BETWEEN 5 AND 100)
    OR (cd_demo_sk = ss_cdemo_sk AND cd_marital_status = 'W' AND ss_sales_price BETWEEN 15 AND 200))
  AND ((ss_addr_sk = ca_address_sk AND ca_country = 'United States' AND ca_state IN ('TN', 'OH') AND ss_net_profit BETWEEN -2000 AND 2000)
    OR (ss_addr_sk = ca_address_sk AND ca_country = 'United States' AND ca_state IN ('GA') AND ss_net_profit BETWEEN 15 AND 3000));

-- query: q49 -- the worst return ratios of three channels: ranks of ratios, filtered by either, in a UNION
SELECT channel, item, return_ratio, return_rank, currency_rank
FROM (
  SELECT 'web' AS channel, item, return_ratio, return_rank, currency_rank
  FROM (SELECT item, return_ratio, currency_ratio, RANK() OVER (ORDER BY return_ratio) AS return_rank, RANK() OVER (ORDER BY currency_ratio) AS currency_rank
        FROM (SELECT ws.ws_item_sk AS item,
                     CAST(SUM(COALESCE(wr.wr_return_quantity, 0)) AS DECIMAL(15,4)) / CAST(SUM(COALESCE(ws.ws_quantity, 0)) AS DECIMAL(15,4)) AS return_ratio,
                     CAST(SUM(COALESCE(wr.wr_return_amt, 0)) AS DECIMAL(15,4)) / CAST(SUM(COALESCE(ws.ws_net_paid, 0)) AS DECIMAL(15,4)) AS currency_ratio
              FROM web_sales ws LEFT OUTER JOIN web_returns wr ON ws.ws_order_number = wr.wr_order_number AND ws.ws_item_sk = wr.wr_item_sk, date_dim
              WHERE wr.wr_return_amt > 40 AND ws.ws_net_profit > -9000 AND ws.ws_net_paid > 0 AND ws.ws_quantity > 0 AND ws_sold_date_sk = d_date_sk AND d_year IN (2000, 2001)
              GROUP BY ws.ws_item_sk) in_web) web
  WHERE web.return_rank <= 3 OR web.currency_rank <= 3
  UNION
  SELECT 'catalog', item, return_ratio, return_rank, currency_rank
  FROM (SELECT item, return_ratio, currency_ratio, RANK() OVER (ORDER BY return_ratio) AS return_rank, RANK() OVER (ORDER BY currency_ratio) AS currency_rank
        FROM (SELECT cs.cs_item_sk AS item,
                     CAST(SUM(COALESCE(cr.cr_return_quantity, 0)) AS DECIMAL(15,4)) / CAST(SUM(COALESCE(cs.cs_quantity, 0)) AS DECIMAL(15,4)) AS return_ratio,
                     CAST(SUM(COALESCE(cr.cr_return_amount, 0)) AS DECIMAL(15,4)) / CAST(SUM(COALESCE(cs.cs_net_paid, 0)) AS DECIMAL(15,4)) AS currency_ratio
              FROM catalog_sales cs LEFT OUTER JOIN catalog_returns cr ON cs.cs_order_number = cr.cr_order_number AND cs.cs_item_sk = cr.cr_item_sk, date_dim
              WHERE cr.cr_return_amount > 40 AND cs.cs_net_profit > -9000 AND cs.cs_net_paid > 0 AND cs.cs_quantity > 0 AND cs_sold_date_sk = d_date_sk AND d_year IN (2000, 2001)
              GROUP BY cs.cs_item_sk) in_cat) catalog
  WHERE catalog.return_rank <= 3 OR catalog.currency_rank <= 3
  UNION
  SELECT 'store', item, return_ratio, return_rank, currency_rank
  FROM (SELECT item, return_ratio, currency_ratio, RANK() OVER (ORDER BY return_ratio) AS return_rank, RANK() OVER (ORDER BY currency_ratio) AS currency_rank
        FROM (SELECT sts.ss_item_sk AS item,
                     CAST(SUM(COALESCE(sr.sr_return_quantity, 0)) AS DECIMAL(15,4)) / CAST(SUM(COALESCE(sts.ss_quantity, 0)) AS DECIMAL(15,4)) AS return_ratio,
                     CAST(SUM(COALESCE(sr.sr_return_amt, 0)) AS DECIMAL(15,4)) / CAST(SUM(COALESCE(sts.ss_net_paid, 0)) AS DECIMAL(15,4)) AS currency_ratio
              FROM store_sales sts LEFT OUTER JOIN store_returns sr ON sts.ss_ticket_number = sr.sr_ticket_number AND sts.ss_item_sk = sr.sr_item_sk, date_dim
              WHERE sr.sr_return_amt > 40 AND sts.ss_net_profit > -9000 AND sts.ss_net_paid > 0 AND sts.ss_quantity > 0 AND ss_sold_date_sk = d_date_sk AND d_year IN (2000, 2001)
              GROUP BY sts.ss_item_sk) in_store) store
  WHERE store.return_rank <= 3 OR store.currency_rank <= 3
) x
ORDER BY 1, 4, 5, 2
LIMIT 100;

-- query: q50 -- how many days until items come back, by store
SELECT s_store_name, s_company_id, s_street_number, s_street_name, s_city, s_zip,
       SUM(CASE WHEN sr_returned_date_sk - ss_sold_date_sk <= 5 THEN 1 ELSE 0 END) AS `5 days`,
       SUM(CASE WHEN sr_returned_date_sk - ss_sold_date_sk > 5 AND sr_returned_date_sk - ss_sold_date_sk <= 60 THEN 1 ELSE 0 END) AS `6-60 days`,
       SUM(CASE WHEN sr_returned_date_sk - ss_sold_date_sk > 60 AND sr_returned_date_sk - ss_sold_date_sk <= 120 THEN 1 ELSE 0 END) AS `61-120 days`,
       SUM(CASE WHEN sr_returned_date_sk - ss_sold_date_sk > 120 THEN 1 ELSE 0 END) AS `>120 days`
FROM store_sales, store_returns, store, date_dim d1, date_dim d2
WHERE d2.d_year IN (2000, 2001) AND d2.d_moy BETWEEN 1 AND 8 AND ss_ticket_number = sr_ticket_number AND ss_item_sk = sr_item_sk AND ss_sold_date_sk = d1.d_date_sk
  AND sr_returned_date_sk = d2.d_date_sk AND ss_customer_sk = sr_customer_sk AND ss_store_sk = s_store_sk
GROUP BY s_store_name, s_company_id, s_street_number, s_street_name, s_city, s_zip
ORDER BY s_store_name, s_company_id, s_street_number, s_street_name, s_city, s_zip
LIMIT 100;

-- query: q51 -- running sums of two channels, FULL JOINed, and running greatest values over the join
WITH web AS (
  SELECT ws_item_sk AS item, d_date, SUM(SUM(ws_sales_price)) OVER (PARTITION BY ws_item_sk ORDER BY d_date ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running
  FROM web_sales, date_dim
  WHERE ws_sold_date_sk = d_date_sk AND d_month_seq BETWEEN 1200 AND 1200 + 11 AND ws_item_sk IS NOT NULL
  GROUP BY ws_item_sk, d_date
), shops AS (
  SELECT ss_item_sk AS item, d_date, SUM(SUM(ss_sales_price)) OVER (PARTITION BY ss_item_sk ORDER BY d_date ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running
  FROM store_sales, date_dim
  WHERE ss_sold_date_sk = d_date_sk AND d_month_seq BETWEEN 1200 AND 1200 + 11 AND ss_item_sk IS NOT NULL
  GROUP BY ss_item_sk, d_date
)
SELECT *
FROM (SELECT item, d_date, web_sales, store_sales,
             MAX(web_sales) OVER (PARTITION BY item ORDER BY d_date ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS web_running,
             MAX(store_sales) OVER (PARTITION BY item ORDER BY d_date ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS store_running
      FROM (SELECT CASE WHEN web.item IS NOT NULL THEN web.item ELSE shops.item END AS item,
                   CASE WHEN web.d_date IS NOT NULL THEN web.d_date ELSE shops.d_date END AS d_date,
                   web.running AS web_sales, shops.running AS store_sales
            FROM web FULL OUTER JOIN shops ON web.item = shops.item AND web.d_date = shops.d_date) x) y
WHERE web_running > store_running
ORDER BY item, d_date
LIMIT 10;

-- query: q52 -- brands of a month
SELECT dt.d_year, item.i_brand_id AS brand_id, item.i_brand AS brand, SUM(ss_ext_sales_price) AS ext_price
FROM date_dim dt, store_sales, item
WHERE dt.d_date_sk = store_sales.ss_sold_date_sk AND store_sales.ss_item_sk = item.i_item_sk AND item.i_manager_id IN (1, 2) AND dt.d_moy = 2 AND dt.d_year = 2000
GROUP BY dt.d_year, item.i_brand, item.i_brand_id
ORDER BY dt.d_year, ext_price DESC, brand_id
LIMIT 2;

-- query: q53 -- makers whose quarters differ from their usual one: a window over sums, filtered
SELECT *
FROM (SELECT i_manufact_id, SUM(ss_sales_price) AS sales, AVG(SUM(ss_sales_price)) OVER (PARTITION BY i_manufact_id) AS usual
      FROM item, store_sales, date_dim, store
      WHERE ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk AND d_month_seq IN (1200, 1201, 1206, 1207, 1210, 1211)
        AND ((i_category IN ('Books', 'Sports') AND i_class IN ('class 1', 'class 2') AND i_brand IN ('brand 1', 'brand 2', 'brand 3'))
          OR (i_category IN ('Music') AND i_class IN ('class 1', 'class 2') AND i_brand IN ('brand 1', 'brand 4')))
      GROUP BY i_manufact_id, d_qoy) each
WHERE CASE WHEN usual > 0 THEN ABS(sales - usual) / usual ELSE NULL END > 0.1
ORDER BY usual, sales, i_manufact_id
LIMIT 100;

-- query: q54 -- how much customers of other channels spend in their stores, in segments of 50
WITH mine AS (
  SELECT DISTINCT c_customer_sk, c_current_addr_sk
  FROM (SELECT cs_sold_date_sk AS day_sk, cs_bill_customer_sk AS customer, cs_item_sk AS item FROM catalog_sales
        UNION ALL SELECT ws_sold_date_sk, ws_bill_customer_sk, ws_item_sk FROM web_sales) sold, item, date_dim, customer
  WHERE day_sk = d_date_sk AND sold.item = i_item_sk AND i_category IN ('Books', 'Music') AND i_class IN ('class 1', 'class 2') AND c_customer_sk = sold.customer
    AND d_moy = 2 AND d_year = 2000
), revenue AS (
  SELECT c_customer_sk, SUM(ss_ext_sales_price) AS revenue
  FROM mine, store_sales, customer_address, store, date_dim
  WHERE c_current_addr_sk = ca_address_sk AND ca_county = s_county AND ca_state = s_state AND ss_sold_date_sk = d_date_sk AND c_customer_sk = ss_customer_sk
    AND d_month_seq BETWEEN (SELECT DISTINCT d_month_seq + 1 FROM date_dim WHERE d_year = 2000 AND d_moy = 2)
                        AND (SELECT DISTINCT d_month_seq + 13 FROM date_dim WHERE d_year = 2000 AND d_moy = 2)
  GROUP BY c_customer_sk
), segments AS (SELECT CAST(revenue / 50 AS INT) AS segment FROM revenue)
SELECT segment, COUNT(*) AS customers, segment * 50 AS base
FROM segments
GROUP BY segment
ORDER BY segment, customers
LIMIT 100;

-- query: q55 -- brands of a manager in a month
SELECT i_brand_id AS brand_id, i_brand AS brand, SUM(ss_ext_sales_price) AS ext_price
FROM date_dim, store_sales, item
WHERE d_date_sk = ss_sold_date_sk AND ss_item_sk = i_item_sk AND i_manager_id = 2 AND d_moy = 2 AND d_year = 2001
GROUP BY i_brand, i_brand_id
ORDER BY ext_price DESC, brand_id
LIMIT 100;

-- query: q56 -- as q33, items of some colours
WITH shops AS (
  SELECT i_item_id, SUM(ss_ext_sales_price) AS total FROM store_sales, date_dim, customer_address, item
  WHERE i_item_id IN (SELECT i_item_id FROM item WHERE i_color IN ('slate', 'blanched')) AND ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk
    AND d_year = 2000 AND d_moy = 2 AND ss_addr_sk = ca_address_sk AND ca_gmt_offset = -5
  GROUP BY i_item_id
), calls AS (
  SELECT i_item_id, SUM(cs_ext_sales_price) AS total FROM catalog_sales, date_dim, customer_address, item
  WHERE i_item_id IN (SELECT i_item_id FROM item WHERE i_color IN ('slate', 'blanched')) AND cs_item_sk = i_item_sk AND cs_sold_date_sk = d_date_sk
    AND d_year = 2000 AND d_moy = 2 AND cs_bill_addr_sk = ca_address_sk AND ca_gmt_offset = -5
  GROUP BY i_item_id
), web AS (
  SELECT i_item_id, SUM(ws_ext_sales_price) AS total FROM web_sales, date_dim, customer_address, item
  WHERE i_item_id IN (SELECT i_item_id FROM item WHERE i_color IN ('slate', 'blanched')) AND ws_item_sk = i_item_sk AND ws_sold_date_sk = d_date_sk
    AND d_year = 2000 AND d_moy = 2 AND ws_bill_addr_sk = ca_address_sk AND ca_gmt_offset = -5
  GROUP BY i_item_id
)
SELECT i_item_id, SUM(total) AS sales
FROM (SELECT * FROM shops UNION ALL SELECT * FROM calls UNION ALL SELECT * FROM web) x
GROUP BY i_item_id
ORDER BY sales, i_item_id
LIMIT 2;

-- query: q57 -- the same by call center
WITH monthly AS (
  SELECT i_category, i_brand, cc_name, d_year, d_moy, SUM(cs_sales_price) AS sales,
         AVG(SUM(cs_sales_price)) OVER (PARTITION BY i_category, i_brand, cc_name, d_year) AS usual,
         RANK() OVER (PARTITION BY i_category, i_brand, cc_name ORDER BY d_year, d_moy) AS place
  FROM item, catalog_sales, date_dim, call_center
  WHERE cs_item_sk = i_item_sk AND cs_sold_date_sk = d_date_sk AND cc_call_center_sk = cs_call_center_sk
    AND (d_year = 2000 OR (d_year = 1999 AND d_moy = 12) OR (d_year = 2001 AND d_moy <= 2))
  GROUP BY i_category, i_brand, cc_name, d_year, d_moy
), beside AS (
  SELECT m.cc_name, m.d_year, m.usual, m.sales, before.sales AS sales_before, after.sales AS sales_after
  FROM monthly m, monthly before, monthly after
  WHERE m.i_category = before.i_category AND m.i_category = after.i_category AND m.i_brand = before.i_brand AND m.i_brand = after.i_brand
    AND m.cc_name = before.cc_name AND m.cc_name = after.cc_name AND m.place = before.place + 1 AND m.place = after.place - 1
)
SELECT * FROM beside
WHERE d_year = 2000 AND usual > 0 AND CASE WHEN usual > 0 THEN ABS(sales - usual) / usual ELSE NULL END > 0.1
ORDER BY sales - usual, sales_before
LIMIT 100;

-- query: q58 -- items that sold about as much in three channels in a week: dates of a week by a scalar subquery in an IN
WITH shops AS (
  SELECT i_item_id AS id, SUM(ss_ext_sales_price) AS revenue FROM store_sales, item, date_dim
  WHERE ss_item_sk = i_item_sk AND d_date IN (SELECT d_date FROM date_dim WHERE d_week_seq >= (SELECT d_week_seq FROM date_dim WHERE d_date = DATE '2000-02-01')) AND ss_sold_date_sk = d_date_sk
  GROUP BY i_item_id
), calls AS (
  SELECT i_item_id AS id, SUM(cs_ext_sales_price) AS revenue FROM catalog_sales, item, date_dim
  WHERE cs_item_sk = i_item_sk AND d_date IN (SELECT d_date FROM date_dim WHERE d_week_seq >= (SELECT d_week_seq FROM date_dim WHERE d_date = DATE '2000-02-01')) AND cs_sold_date_sk = d_date_sk
  GROUP BY i_item_id
), web AS (
  SELECT i_item_id AS id, SUM(ws_ext_sales_price) AS revenue FROM web_sales, item, date_dim
  WHERE ws_item_sk = i_item_sk AND d_date IN (SELECT d_date FROM date_dim WHERE d_week_seq >= (SELECT d_week_seq FROM date_dim WHERE d_date = DATE '2000-02-01')) AND ws_sold_date_sk = d_date_sk
  GROUP BY i_item_id
)
SELECT shops.id, shops.revenue AS s, shops.revenue / ((shops.revenue + calls.revenue + web.revenue) / 3) * 100 AS s_part,
       calls.revenue AS c, calls.revenue / ((shops.revenue + calls.revenue + web.revenue) / 3) * 100 AS c_part,
       web.revenue AS w, web.revenue / ((shops.revenue + calls.revenue + web.revenue) / 3) * 100 AS w_part, (shops.revenue + calls.revenue + web.revenue) / 3 AS average
FROM shops, calls, web
WHERE shops.id = calls.id AND shops.id = web.id AND shops.revenue BETWEEN 0.3 * calls.revenue AND 3 * calls.revenue AND shops.revenue BETWEEN 0.3 * web.revenue AND 3 * web.revenue
  AND calls.revenue BETWEEN 0.3 * shops.revenue AND 3 * shops.revenue AND calls.revenue BETWEEN 0.3 * web.revenue AND 3 * web.revenue
  AND web.revenue BETWEEN 0.3 * shops.revenue AND 3 * shops.revenue AND web.revenue BETWEEN 0.3 * calls.revenue AND 3 * calls.revenue
ORDER BY id, s
LIMIT 100;

-- query: q59 -- weeks of stores by day, beside those of 52 weeks later
WITH weekly AS (
  SELECT d_week_seq AS week, ss_store_sk AS store,
         SUM(CASE WHEN d_day_name = 'Sunday' THEN ss_sales_price ELSE NULL END) AS sun, SUM(CASE WHEN d_day_name = 'Monday' THEN ss_sales_price ELSE NULL END) AS mon,
         SUM(CASE WHEN d_day_name = 'Tuesday' THEN ss_sales_price ELSE NULL END) AS tue, SUM(CASE WHEN d_day_name = 'Wednesday' THEN ss_sales_price ELSE NULL END) AS wed,
         SUM(CASE WHEN d_day_name = 'Friday' THEN ss_sales_price ELSE NULL END) AS fri, SUM(CASE WHEN d_day_name = 'Saturday' THEN ss_sales_price ELSE NULL END) AS sat
  FROM store_sales, date_dim
  WHERE d_date_sk = ss_sold_date_sk
  GROUP BY d_week_seq, ss_store_sk
)
SELECT y.s_store_name, y.s_store_id, y.week, y.sun / z.sun AS r_sun, y.mon / z.mon AS r_mon, y.tue / z.tue AS r_tue, y.wed / z.wed AS r_wed, y.fri / z.fri AS r_fri, y.sat / z.sat AS r_sat
FROM (SELECT s_store_name, weekly.week AS week, s_store_id, sun, mon, tue, wed, fri, sat FROM weekly, store, date_dim d
      WHERE d.d_week_seq = weekly.week AND weekly.store = s_store_sk AND d_month_seq BETWEEN 1188 AND 1188 + 23) y,
     (SELECT s_store_name, weekly.week AS week, s_store_id, sun, mon, tue, wed, fri, sat FROM weekly, store, date_dim d
      WHERE d.d_week_seq = weekly.week AND weekly.store = s_store_sk AND d_month_seq BETWEEN 1188 + 12 AND 1188 + 35) z
WHERE y.s_store_id = z.s_store_id AND y.week = z.week - 52
ORDER BY y.s_store_name, y.s_store_id, y.week
LIMIT 50;

-- query: q60 -- as q56, by category
WITH shops AS (
  SELECT i_item_id, SUM(ss_ext_sales_price) AS total FROM store_sales, date_dim, customer_address, item
  WHERE i_item_id IN (SELECT i_item_id FROM item WHERE i_category IN ('Music')) AND ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk
    AND d_year = 2000 AND d_moy = 2 AND ss_addr_sk = ca_address_sk AND ca_gmt_offset = -6
  GROUP BY i_item_id
), calls AS (
  SELECT i_item_id, SUM(cs_ext_sales_price) AS total FROM catalog_sales, date_dim, customer_address, item
  WHERE i_item_id IN (SELECT i_item_id FROM item WHERE i_category IN ('Music')) AND cs_item_sk = i_item_sk AND cs_sold_date_sk = d_date_sk
    AND d_year = 2000 AND d_moy = 2 AND cs_bill_addr_sk = ca_address_sk AND ca_gmt_offset = -6
  GROUP BY i_item_id
), web AS (
  SELECT i_item_id, SUM(ws_ext_sales_price) AS total FROM web_sales, date_dim, customer_address, item
  WHERE i_item_id IN (SELECT i_item_id FROM item WHERE i_category IN ('Music')) AND ws_item_sk = i_item_sk AND ws_sold_date_sk = d_date_sk
    AND d_year = 2000 AND d_moy = 2 AND ws_bill_addr_sk = ca_address_sk AND ca_gmt_offset = -6
  GROUP BY i_item_id
)
SELECT i_item_id, SUM(total) AS sales
FROM (SELECT * FROM shops UNION ALL SELECT * FROM calls UNION ALL SELECT * FROM web) x
GROUP BY i_item_id
ORDER BY i_item_id, sales
LIMIT 100;

-- query: q61 -- promoted sales as a part of all: two one-row aggregates crossed
SELECT promotions, total, CAST(promotions AS DECIMAL(15,4)) / CAST(total AS DECIMAL(15,4)) * 100 AS part
FROM (SELECT SUM(ss_ext_sales_price) AS promotions
      FROM store_sales, store, promotion, date_dim, customer, customer_address, item
      WHERE ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk AND ss_promo_sk = p_promo_sk AND ss_customer_sk = c_customer_sk AND ca_address_sk = c_current_addr_sk
        AND ss_item_sk = i_item_sk AND ca_gmt_offset = -5 AND i_category IN ('Books', 'Music') AND (p_channel_dmail = 'Y' OR p_channel_email = 'Y' OR p_channel_tv = 'Y')
        AND s_gmt_offset IN (-5, -6) AND d_year = 2000) promoted,
     (SELECT SUM(ss_ext_sales_price) AS total
      FROM store_sales, store, date_dim, customer, customer_address, item
      WHERE ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk AND ss_customer_sk = c_customer_sk AND ca_address_sk = c_current_addr_sk
        AND ss_item_sk = i_item_sk AND ca_gmt_offset = -5 AND i_category IN ('Books', 'Music') AND s_gmt_offset IN (-5, -6) AND d_year = 2000) everything
ORDER BY promotions, total
LIMIT 100;

-- query: q62 -- how many days until web orders are shipped, by warehouse, way and site
SELECT SUBSTR(w_warehouse_name, 1, 20) AS warehouse, sm_type, web_name,
       SUM(CASE WHEN ws_ship_date_sk - ws_sold_date_sk <= 3 THEN 1 ELSE 0 END) AS `3 days`,
       SUM(CASE WHEN ws_ship_date_sk - ws_sold_date_sk > 3 AND ws_ship_date_sk - ws_sold_date_sk <= 60 THEN 1 ELSE 0 END) AS `4-60 days`,
       SUM(CASE WHEN ws_ship_date_sk - ws_sold_date_sk > 60 AND ws_ship_date_sk - ws_sold_date_sk <= 90 THEN 1 ELSE 0 END) AS `61-90 days`,
       SUM(CASE WHEN ws_ship_date_sk - ws_sold_date_sk > 90 THEN 1 ELSE 0 END) AS `>90 days`
FROM web_sales, warehouse, ship_mode, web_site, date_dim
WHERE d_month_seq BETWEEN 1188 AND 1188 + 30 AND ws_ship_date_sk = d_date_sk AND ws_warehouse_sk = w_warehouse_sk AND ws_ship_mode_sk = sm_ship_mode_sk AND ws_web_site_sk = web_site_sk
GROUP BY SUBSTR(w_warehouse_name, 1, 20), sm_type, web_name
ORDER BY SUBSTR(w_warehouse_name, 1, 20), sm_type, web_name
LIMIT 7;

-- query: q63 -- as q53, managers by month
SELECT *
FROM (SELECT i_manager_id, SUM(ss_sales_price) AS sales, AVG(SUM(ss_sales_price)) OVER (PARTITION BY i_manager_id) AS usual
      FROM item, store_sales, date_dim, store
      WHERE ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk AND d_month_seq IN (1200, 1201, 1206, 1207, 1210, 1211)
        AND ((i_category IN ('Books', 'Sports') AND i_class IN ('class 1', 'class 2') AND i_brand IN ('brand 1', 'brand 2', 'brand 3'))
          OR (i_category IN ('Music') AND i_class IN ('class 1', 'class 2') AND i_brand IN ('brand 1', 'brand 4')))
      GROUP BY i_manager_id, d_moy) each
WHERE CASE WHEN usual > 0 THEN ABS(sales - usual) / usual ELSE NULL END > 0.1
ORDER BY i_manager_id, usual, sales
LIMIT 100;

-- query: q64 -- seventeen tables in one CTE, which is joined to itself by year
WITH refunded AS (
  SELECT cs_item_sk, SUM(cs_ext_list_price) AS sale, SUM(cr_refunded_cash + cr_reversed_charge + cr_store_credit) AS refund
  FROM catalog_sales, catalog_returns
  WHERE cs_item_sk = cr_item_sk AND cs_order_number = cr_order_number
  GROUP BY cs_item_sk
  HAVING SUM(cs_ext_list_price) > SUM(cr_refunded_cash + cr_reversed_charge + cr_store_credit) / 2
), crossed AS (
  SELECT i_product_name AS product, i_item_sk AS item_sk, s_store_name AS store_name, s_zip AS store_zip, ad1.ca_street_name AS b_street, ad1.ca_city AS b_city, ad1.ca_zip AS b_zip,
         ad2.ca_street_name AS c_street, ad2.ca_city AS c_city, ad2.ca_zip AS c_zip, d1.d_year AS syear, d2.d_year AS fsyear, d3.d_year AS s2year,
         COUNT(*) AS cnt, SUM(ss_wholesale_cost) AS s1, SUM(ss_list_price) AS s2, SUM(ss_coupon_amt) AS s3
  FROM store_sales, store_returns, refunded, date_dim d1, date_dim d2, date_dim d3, store, customer, customer_demographics cd1, customer_demographics cd2, promotion,
       household_demographics hd1, household_demographics hd2, customer_address ad1, customer_address ad2, income_band ib1, income_band ib2, item
  WHERE ss_store_sk = s_store_sk AND ss_sold_date_sk = d1.d_date_sk AND ss_customer_sk = c_customer_sk AND ss_cdemo_sk = cd1.cd_demo_sk AND ss_hdemo_sk = hd1.hd_demo_sk
    AND ss_addr_sk = ad1.ca_address_sk AND ss_item_sk = i_item_sk AND ss_item_sk = sr_item_sk AND ss_ticket_number = sr_ticket_number AND ss_item_sk = refunded.cs_item_sk
    AND c_current_cdemo_sk = cd2.cd_demo_sk AND c_current_hdemo_sk = hd2.hd_demo_sk AND c_current_addr_sk = ad2.ca_address_sk AND c_first_sales_date_sk = d2.d_date_sk
    AND c_first_shipto_date_sk = d3.d_date_sk AND ss_promo_sk = p_promo_sk AND hd1.hd_income_band_sk = ib1.ib_income_band_sk AND hd2.hd_income_band_sk = ib2.ib_income_band_sk
    AND cd1.cd_marital_status <> cd2.cd_marital_status AND i_color IN ('slate', 'blanched', 'powder', 'orchid') AND i_current_price BETWEEN 1 AND 1 + 98
  GROUP BY i_product_name, i_item_sk, s_store_name, s_zip, ad1.ca_street_name, ad1.ca_city, ad1.ca_zip, ad2.ca_street_name, ad2.ca_city, ad2.ca_zip, d1.d_year, d2.d_year, d3.d_year
)
SELECT cs1.product, cs1.store_name, cs1.store_zip, cs1.b_street, cs1.b_city, cs1.b_zip, cs1.c_street, cs1.c_city, cs1.c_zip, cs1.syear, cs1.cnt, cs1.s1 AS s11, cs1.s2 AS s21, cs1.s3 AS s31,
       cs2.s1 AS s12, cs2.s2 AS s22, cs2.s3 AS s32, cs2.syear AS syear2, cs2.cnt AS cnt2
FROM crossed cs1, crossed cs2
WHERE cs1.item_sk = cs2.item_sk AND cs1.syear IN (2000, 2001) AND cs2.syear IN (2000, 2000 + 1) AND cs2.cnt <= cs1.cnt
  AND cs1.store_name = cs2.store_name AND cs1.store_zip = cs2.store_zip
ORDER BY cs1.product, cs1.store_name, cnt2, s11, s12;

-- query: q65 -- items that bring a store little beside its usual item: a subquery grouped twice
SELECT s_store_name, i_item_desc, sc.revenue, i_current_price, i_wholesale_cost, i_brand
FROM store, item,
     (SELECT ss_store_sk, AVG(revenue) AS usual
      FROM (SELECT ss_store_sk, ss_item_sk, SUM(ss_sales_price) AS revenue FROM store_sales, date_dim
            WHERE ss_sold_date_sk = d_date_sk AND d_month_seq BETWEEN 1200 AND 1200 + 11 GROUP BY ss_store_sk, ss_item_sk) sa
      GROUP BY ss_store_sk) sb,
     (SELECT ss_store_sk, ss_item_sk, SUM(ss_sales_price) AS revenue FROM store_sales, date_dim
      WHERE ss_sold_date_sk = d_date_sk AND d_month_seq BETWEEN 1200 AND 1200 + 11 GROUP BY ss_store_sk, ss_item_sk) sc
WHERE sb.ss_store_sk = sc.ss_store_sk AND sc.revenue <= 0.6 * sb.usual AND s_store_sk = sc.ss_store_sk AND i_item_sk = sc.ss_item_sk
ORDER BY s_store_name, i_item_desc
LIMIT 3;

-- query: q66 -- months of warehouses in two channels: a wide union of pivots, summed again, with quotients
SELECT w_warehouse_name, w_warehouse_sq_ft, w_city, w_county, w_state, w_country, ship_carriers, year, SUM(jan) AS jan, SUM(feb) AS feb, SUM(aug) AS aug, SUM(dec) AS dec,
       SUM(jan / w_warehouse_sq_ft) AS jan_per_foot, SUM(feb / w_warehouse_sq_ft) AS feb_per_foot, SUM(jan_net) AS jan_net, SUM(feb_net) AS feb_net, SUM(dec_net) AS dec_net
FROM (SELECT w_warehouse_name, w_warehouse_sq_ft, w_city, w_county, w_state, w_country, 'DHL' || ',' || 'BARIAN' AS ship_carriers, d_year AS year,
             SUM(CASE WHEN d_moy = 1 THEN ws_ext_sales_price * ws_quantity ELSE 0 END) AS jan, SUM(CASE WHEN d_moy = 2 THEN ws_ext_sales_price * ws_quantity ELSE 0 END) AS feb,
             SUM(CASE WHEN d_moy = 8 THEN ws_ext_sales_price * ws_quantity ELSE 0 END) AS aug, SUM(CASE WHEN d_moy = 12 THEN ws_ext_sales_price * ws_quantity ELSE 0 END) AS dec,
             SUM(CASE WHEN d_moy = 1 THEN ws_net_paid * ws_quantity ELSE 0 END) AS jan_net, SUM(CASE WHEN d_moy = 2 THEN ws_net_paid * ws_quantity ELSE 0 END) AS feb_net,
             SUM(CASE WHEN d_moy = 12 THEN ws_net_paid * ws_quantity ELSE 0 END) AS dec_net
      FROM web_sales, warehouse, date_dim, time_dim, ship_mode
      WHERE ws_warehouse_sk = w_warehouse_sk AND ws_sold_date_sk = d_date_sk AND ws_sold_time_sk = t_time_sk AND ws_ship_mode_sk = sm_ship_mode_sk AND d_year = 2000
        AND t_time BETWEEN 30000 AND 30000 + 48800 AND sm_carrier IN ('DHL', 'BARIAN')
      GROUP BY w_warehouse_name, w_warehouse_sq_ft, w_city, w_county, w_state, w_country, d_year
      UNION ALL
      SELECT w_warehouse_name, w_warehouse_sq_ft, w_city, w_county, w_state, w_country, 'DHL' || ',' || 'BARIAN' AS ship_carriers, d_year AS year,
             SUM(CASE WHEN d_moy = 1 THEN cs_sales_price * cs_quantity ELSE 0 END), SUM(CASE WHEN d_moy = 2 THEN cs_sales_price * cs_quantity ELSE 0 END),
             SUM(CASE WHEN d_moy = 8 THEN cs_sales_price * cs_quantity ELSE 0 END), SUM(CASE WHEN d_moy = 12 THEN cs_sales_price * cs_quantity ELSE 0 END),
             SUM(CASE WHEN d_moy = 1 THEN cs_net_paid_inc_tax * cs_quantity ELSE 0 END), SUM(CASE WHEN d_moy = 2 THEN cs_net_paid_inc_tax * cs_quantity ELSE 0 END),
             SUM(CASE WHEN d_moy = 12 THEN cs_net_paid_inc_tax * cs_quantity ELSE 0 END)
      FROM catalog_sales, warehouse, date_dim, time_dim, ship_mode
      WHERE cs_warehouse_sk = w_warehouse_sk AND cs_sold_date_sk = d_date_sk AND cs_sold_time_sk = t_time_sk AND cs_ship_mode_sk = sm_ship_mode_sk AND d_year = 2000
        AND t_time BETWEEN 30000 AND 30000 + 48800 AND sm_carrier IN ('DHL', 'BARIAN')
      GROUP BY w_warehouse_name, w_warehouse_sq_ft, w_city, w_county, w_state, w_country, d_year) x
GROUP BY w_warehouse_name, w_warehouse_sq_ft, w_city, w_county, w_state, w_country, ship_carriers, year
ORDER BY w_warehouse_name
LIMIT 100;

-- query: q67 -- eight columns rolled up, and the best of each category
SELECT *
FROM (SELECT i_category, i_class, i_brand, i_product_name, d_year, d_qoy, d_moy, s_store_id, sales, RANK() OVER (PARTITION BY i_category ORDER BY sales DESC) AS place
      FROM (SELECT i_category, i_class, i_brand, i_product_name, d_year, d_qoy, d_moy, s_store_id, SUM(COALESCE(ss_sales_price * ss_quantity, 0)) AS sales
            FROM store_sales, date_dim, store, item
            WHERE ss_sold_date_sk = d_date_sk AND ss_item_sk = i_item_sk AND ss_store_sk = s_store_sk AND d_month_seq BETWEEN 1200 AND 1200 + 11
            GROUP BY ROLLUP (i_category, i_class, i_brand, i_product_name, d_year, d_qoy, d_moy, s_store_id)) dw1) dw2
WHERE place <= 6
ORDER BY i_category, i_class, i_brand, i_product_name, d_year, d_qoy, d_moy, s_store_id, sales, place
LIMIT 15;

-- query: q68 -- as q46, with prices
SELECT c_last_name, c_first_name, ca_city, bought_city, ss_ticket_number, price, tax, list
FROM (SELECT ss_ticket_number, ss_customer_sk, ca_city AS bought_city, SUM(ss_ext_sales_price) AS price, SUM(ss_ext_list_price) AS list, SUM(ss_ext_tax) AS tax
      FROM store_sales, date_dim, store, household_demographics, customer_address
      WHERE ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk AND ss_hdemo_sk = hd_demo_sk AND ss_addr_sk = ca_address_sk
        AND d_dom BETWEEN 1 AND 5 AND (hd_dep_count = 4 OR hd_vehicle_count IN (1, 2)) AND d_year IN (1999, 1999 + 1, 1999 + 2) AND s_city IN ('Midway', 'Fairview', 'Oakland')
      GROUP BY ss_ticket_number, ss_customer_sk, ss_addr_sk, ca_city) dn, customer, customer_address now
WHERE ss_customer_sk = c_customer_sk AND c_current_addr_sk = now.ca_address_sk AND now.ca_city <> bought_city
ORDER BY c_last_name
LIMIT 4;

-- query: q69 -- as q10: bought in a store, and neither on the web nor by catalog
SELECT cd_gender, cd_marital_status, cd_education_status, COUNT(*) AS cnt1, cd_purchase_estimate, COUNT(*) AS cnt2, cd_credit_rating, COUNT(*) AS cnt3
FROM customer c, customer_address ca, customer_demographics
WHERE c.c_current_addr_sk = ca.ca_address_sk AND ca_state IN ('GA', 'OH', 'TN') AND cd_demo_sk = c.c_current_cdemo_sk
  AND EXISTS (SELECT * FROM store_sales, date_dim WHERE c.c_customer_sk = ss_customer_sk AND ss_sold_date_sk = d_date_sk AND d_year = 2000 AND d_moy BETWEEN 2 AND 2 + 2)
  AND (NOT EXISTS (SELECT * FROM web_sales, date_dim WHERE c.c_customer_sk = ws_bill_customer_sk AND ws_sold_date_sk = d_date_sk AND d_year = 2001 AND d_moy BETWEEN 2 AND 2 + 2)
       AND NOT EXISTS (SELECT * FROM catalog_sales, date_dim WHERE c.c_customer_sk = cs_ship_customer_sk AND cs_sold_date_sk = d_date_sk AND d_year = 1999 AND d_moy BETWEEN 2 AND 2 + 2))
GROUP BY cd_gender, cd_marital_status, cd_education_status, cd_purchase_estimate, cd_credit_rating
ORDER BY cd_gender, cd_marital_status, cd_education_status, cd_purchase_estimate, cd_credit_rating
LIMIT 100;

-- query: q70 -- profits rolled up over the best states only, which a ranking in an IN decides, and ranked among their level
SELECT SUM(ss_net_profit) AS total, s_state, s_county, GROUPING(s_state) + GROUPING(s_county) AS level,
       RANK() OVER (PARTITION BY GROUPING(s_state) + GROUPING(s_county), CASE WHEN GROUPING(s_county) = 0 THEN s_state END ORDER BY SUM(ss_net_profit) DESC) AS place
FROM store_sales, date_dim d1, store
WHERE d1.d_month_seq BETWEEN 1200 AND 1200 + 11 AND d1.d_date_sk = ss_sold_date_sk AND s_store_sk = ss_store_sk
  AND s_state IN (SELECT s_state FROM (SELECT s_state, RANK() OVER (PARTITION BY s_state ORDER BY SUM(ss_net_profit) DESC) AS ranking
                                       FROM store_sales, store, date_dim
                                       WHERE d_month_seq BETWEEN 1200 AND 1200 + 11 AND d_date_sk = ss_sold_date_sk AND s_store_sk = ss_store_sk GROUP BY s_state) best
                  WHERE ranking <= 5)
GROUP BY ROLLUP (s_state, s_county)
ORDER BY level DESC, CASE WHEN level = 0 THEN s_state END, place
LIMIT 100;

-- query: q71 -- brands at breakfast and dinner in any channel
SELECT i_brand_id AS brand_id, i_brand AS brand, t_hour, t_minute, SUM(ext_price) AS price
FROM item,
     (SELECT ws_ext_sales_price AS ext_price, ws_sold_date_sk AS day_sk, ws_item_sk AS item_sk, ws_sold_time_sk AS time_sk FROM web_sales, date_dim WHERE d_date_sk = ws_sold_date_sk AND d_moy = 2 AND d_year = 2000
      UNION ALL SELECT cs_ext_sales_price, cs_sold_date_sk, cs_item_sk, cs_sold_time_sk FROM catalog_sales, date_dim WHERE d_date_sk = cs_sold_date_sk AND d_moy = 2 AND d_year = 2000
      UNION ALL SELECT ss_ext_sales_price, ss_sold_date_sk, ss_item_sk, ss_sold_time_sk FROM store_sales, date_dim WHERE d_date_sk = ss_sold_date_sk AND d_moy = 2 AND d_year = 2000) sold,
     time_dim
WHERE item_sk = i_item_sk AND i_manager_id IN (1, 2) AND time_sk = t_time_sk AND (t_meal_time = 'breakfast' OR t_meal_time = 'dinner')
GROUP BY i_brand, i_brand_id, t_hour, t_minute
ORDER BY price DESC, i_brand_id, t_hour, t_minute;

-- query: q72 -- orders that the stock of their week could not fill, shipped late: eleven tables, LEFT JOINs, an inequality
SELECT i_item_desc, w_warehouse_name, d1.d_week_seq, SUM(CASE WHEN p_promo_sk IS NULL THEN 1 ELSE 0 END) AS no_promo,
       SUM(CASE WHEN p_promo_sk IS NOT NULL THEN 1 ELSE 0 END) AS promo, COUNT(*) AS total
FROM catalog_sales
JOIN inventory ON cs_item_sk = inv_item_sk
JOIN warehouse ON w_warehouse_sk = inv_warehouse_sk
JOIN item ON i_item_sk = cs_item_sk
JOIN customer_demographics ON cs_bill_cdemo_sk = cd_demo_sk
JOIN household_demographics ON cs_bill_hdemo_sk = hd_demo_sk
JOIN date_dim d1 ON cs_sold_date_sk = d1.d_date_sk
JOIN date_dim d2 ON inv_date_sk = d2.d_date_sk
JOIN date_dim d3 ON cs_ship_date_sk = d3.d_date_sk
LEFT OUTER JOIN promotion ON cs_promo_sk = p_promo_sk
LEFT OUTER JOIN catalog_returns ON cr_item_sk = cs_item_sk AND cr_order_number = cs_order_number
WHERE d1.d_week_seq = d2.d_week_seq AND inv_quantity_on_hand < 10 * cs_quantity AND d3.d_date > d1.d_date + INTERVAL 1 DAYS
  AND hd_buy_potential IN ('>10000', '0-500', 'Unknown') AND d1.d_year IN (2000, 2001) AND cd_marital_status IN ('M', 'D', 'S')
GROUP BY i_item_desc, w_warehouse_name, d1.d_week_seq
ORDER BY total DESC
LIMIT 3;

-- query: q73 -- as q34, fewer items
SELECT c_last_name, c_first_name, c_salutation, c_preferred_cust_flag, ss_ticket_number, cnt
FROM (SELECT ss_ticket_number, ss_customer_sk, COUNT(*) AS cnt
      FROM store_sales, date_dim, store, household_demographics
      WHERE ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk AND ss_hdemo_sk = hd_demo_sk AND d_dom BETWEEN 1 AND 12
        AND (hd_buy_potential = '>10000' OR hd_buy_potential = 'Unknown' OR hd_buy_potential = '1001-5000') AND hd_vehicle_count > 0
        AND CASE WHEN hd_vehicle_count > 0 THEN hd_dep_count / hd_vehicle_count ELSE NULL END > 0.5
        AND d_year IN (1999, 1999 + 1, 1999 + 2) AND s_county IN ('Walker County', 'Daviess County', 'Ziebach County')
      GROUP BY ss_ticket_number, ss_customer_sk) dj, customer
WHERE ss_customer_sk = c_customer_sk AND cnt BETWEEN 1 AND 5
ORDER BY cnt DESC, c_last_name ASC
LIMIT 2;

-- query: q74 -- as q11, with the greatest payment and without a ratio of zero
WITH yearly AS (
  SELECT c_customer_id AS id, c_first_name AS first_name, c_last_name AS last_name, d_year AS year, SUM(ss_net_paid) AS total, 's' AS channel
  FROM customer, store_sales, date_dim
  WHERE c_customer_sk = ss_customer_sk AND ss_sold_date_sk = d_date_sk AND d_year IN (2000, 2000 + 1)
  GROUP BY c_customer_id, c_first_name, c_last_name, d_year
  UNION ALL
  SELECT c_customer_id, c_first_name, c_last_name, d_year, SUM(ws_net_paid), 'w'
  FROM customer, web_sales, date_dim
  WHERE c_customer_sk = ws_bill_customer_sk AND ws_sold_date_sk = d_date_sk AND d_year IN (2000, 2000 + 1)
  GROUP BY c_customer_id, c_first_name, c_last_name, d_year
)
SELECT s2.id, s2.first_name, s2.last_name
FROM yearly s1, yearly s2, yearly w1, yearly w2
WHERE s2.id = s1.id AND s1.id = w2.id AND s1.id = w1.id AND s1.channel = 's' AND w1.channel = 'w' AND s2.channel = 's' AND w2.channel = 'w'
  AND s1.year = 2000 AND s2.year = 2000 + 1 AND w1.year = 2000 AND w2.year = 2000 + 1 AND s1.total > 0 AND w1.total > 0
  AND CASE WHEN w1.total > 0 THEN w2.total / w1.total ELSE NULL END > CASE WHEN s1.total > 0 THEN s2.total / s1.total ELSE NULL END
ORDER BY 2, 1, 3
LIMIT 100;

-- query: q75 -- kinds of items that sold less than a year before, less what came back: UNION of three LEFT JOINs, joined to itself
WITH sold AS (
  SELECT d_year, i_brand_id, i_class_id, i_category_id, i_manufact_id, SUM(cnt) AS cnt, SUM(amt) AS amt
  FROM (SELECT d_year, i_brand_id, i_class_id, i_category_id, i_manufact_id, cs_quantity - COALESCE(cr_return_quantity, 0) AS cnt, cs_ext_sales_price - COALESCE(cr_return_amount, 0.0) AS amt
        FROM catalog_sales JOIN item ON i_item_sk = cs_item_sk JOIN date_dim ON d_date_sk = cs_sold_date_sk
             LEFT JOIN catalog_returns ON cs_order_number = cr_order_number AND cs_item_sk = cr_item_sk
        WHERE i_category IN ('Books', 'Music')
        UNION
        SELECT d_year, i_brand_id, i_class_id, i_category_id, i_manufact_id, ss_quantity - COALESCE(sr_return_quantity, 0), ss_ext_sales_price - COALESCE(sr_return_amt, 0.0)
        FROM store_sales JOIN item ON i_item_sk = ss_item_sk JOIN date_dim ON d_date_sk = ss_sold_date_sk
             LEFT JOIN store_returns ON ss_ticket_number = sr_ticket_number AND ss_item_sk = sr_item_sk
        WHERE i_category IN ('Books', 'Music')
        UNION
        SELECT d_year, i_brand_id, i_class_id, i_category_id, i_manufact_id, ws_quantity - COALESCE(wr_return_quantity, 0), ws_ext_sales_price - COALESCE(wr_return_amt, 0.0)
        FROM web_sales JOIN item ON i_item_sk = ws_item_sk JOIN date_dim ON d_date_sk = ws_sold_date_sk
             LEFT JOIN web_returns ON ws_order_number = wr_order_number AND ws_item_sk = wr_item_sk
        WHERE i_category IN ('Books', 'Music')) detail
  GROUP BY d_year, i_brand_id, i_class_id, i_category_id, i_manufact_id
)
SELECT past.d_year AS past_year, now.d_year AS year, now.i_brand_id, now.i_class_id, now.i_category_id, now.i_manufact_id, past.cnt AS past_cnt, now.cnt AS cnt,
       now.cnt - past.cnt AS cnt_more, now.amt - past.amt AS amt_more
FROM sold now, sold past
WHERE now.i_brand_id = past.i_brand_id AND now.i_class_id = past.i_class_id AND now.i_category_id = past.i_category_id AND now.i_manufact_id = past.i_manufact_id
  AND now.d_year = 2001 AND past.d_year = 2001 - 1 AND CAST(now.cnt AS DECIMAL(17,2)) / CAST(past.cnt AS DECIMAL(17,2)) < 0.9
ORDER BY cnt_more, amt_more
LIMIT 100;

-- query: q76 -- sales without a store, a customer or an address, in three channels
SELECT channel, missing, d_year, d_qoy, i_category, COUNT(*) AS cnt, SUM(price) AS amt
FROM (SELECT 'store' AS channel, 'ss_store_sk' AS missing, d_year, d_qoy, i_category, ss_ext_sales_price AS price FROM store_sales, item, date_dim
      WHERE ss_store_sk IS NULL AND ss_sold_date_sk = d_date_sk AND ss_item_sk = i_item_sk
      UNION ALL
      SELECT 'web', 'ws_ship_customer_sk', d_year, d_qoy, i_category, ws_ext_sales_price FROM web_sales, item, date_dim
      WHERE ws_ship_customer_sk IS NULL AND ws_sold_date_sk = d_date_sk AND ws_item_sk = i_item_sk
      UNION ALL
      SELECT 'catalog', 'cs_ship_addr_sk', d_year, d_qoy, i_category, cs_ext_sales_price FROM catalog_sales, item, date_dim
      WHERE cs_ship_addr_sk IS NULL AND cs_sold_date_sk = d_date_sk AND cs_item_sk = i_item_sk) nowhere
GROUP BY channel, missing, d_year, d_qoy, i_category
ORDER BY channel, missing, d_year, d_qoy, i_category
LIMIT 100;

-- query: q77 -- sales and returns of three channels, grouped apart, LEFT JOINed or crossed, and rolled up
WITH ss AS (
  SELECT s_store_sk, SUM(ss_ext_sales_price) AS sales, SUM(ss_net_profit) AS profit FROM store_sales, date_dim, store
  WHERE ss_sold_date_sk = d_date_sk AND d_date BETWEEN CAST('2000-01-31' AS DATE) AND (CAST('2000-01-31' AS DATE) + INTERVAL 30 DAYS) AND ss_store_sk = s_store_sk
  GROUP BY s_store_sk
), sr AS (
  SELECT s_store_sk, SUM(sr_return_amt) AS back, SUM(sr_net_loss) AS loss FROM store_returns, date_dim, store
  WHERE sr_returned_date_sk = d_date_sk AND d_date BETWEEN CAST('2000-01-31' AS DATE) AND (CAST('2000-01-31' AS DATE) + INTERVAL 30 DAYS) AND sr_store_sk = s_store_sk
  GROUP BY s_store_sk
), cs AS (
  SELECT cs_call_center_sk, SUM(cs_ext_sales_price) AS sales, SUM(cs_net_profit) AS profit FROM catalog_sales, date_dim
  WHERE cs_sold_date_sk = d_date_sk AND d_date BETWEEN CAST('2000-01-31' AS DATE) AND (CAST('2000-01-31' AS DATE) + INTERVAL 30 DAYS)
  GROUP BY cs_call_center_sk
), cr AS (
  SELECT cr_call_center_sk, SUM(cr_return_amount) AS back, SUM(cr_net_loss) AS loss FROM catalog_returns, date_dim
  WHERE cr_returned_date_sk = d_date_sk AND d_date BETWEEN CAST('2000-01-31' AS DATE) AND (CAST('2000-01-31' AS DATE) + INTERVAL 200 DAYS)
  GROUP BY cr_call_center_sk
), ws AS (
  SELECT wp_web_page_sk, SUM(ws_ext_sales_price) AS sales, SUM(ws_net_profit) AS profit FROM web_sales, date_dim, web_page
  WHERE ws_sold_date_sk = d_date_sk AND d_date BETWEEN CAST('2000-01-31' AS DATE) AND (CAST('2000-01-31' AS DATE) + INTERVAL 30 DAYS) AND ws_web_page_sk = wp_web_page_sk
  GROUP BY wp_web_page_sk
), wr AS (
  SELECT wp_web_page_sk, SUM(wr_return_amt) AS back, SUM(wr_net_loss) AS loss FROM web_returns, date_dim, web_page
  WHERE wr_returned_date_sk = d_date_sk AND d_date BETWEEN CAST('2000-01-31' AS DATE) AND (CAST('2000-01-31' AS DATE) + INTERVAL 30 DAYS) AND wr_web_page_sk = wp_web_page_sk
  GROUP BY wp_web_page_sk
)
SELECT channel, id, SUM(sales) AS sales, SUM(back) AS back, SUM(profit) AS profit
FROM (SELECT 'store channel' AS channel, ss.s_store_sk AS id, sales, COALESCE(back, 0) AS back, (profit - COALESCE(loss, 0)) AS profit FROM ss LEFT JOIN sr ON ss.s_store_sk = sr.s_store_sk
      UNION ALL
      SELECT 'catalog channel', cs_call_center_sk, sales, back, (profit - loss) FROM cs, cr
      UNION ALL
      SELECT 'web channel', ws.wp_web_page_sk, sales, COALESCE(back, 0), (profit - COALESCE(loss, 0)) FROM ws LEFT JOIN wr ON ws.wp_web_page_sk = wr.wp_web_page_sk) x
GROUP BY ROLLUP (channel, id)
ORDER BY channel, id
LIMIT 100;

-- query: q78 -- what customers bought and kept in a year, in stores beside the other channels: LEFT JOINs with IS NULL, and LEFT JOINs of CTEs
WITH ws AS (
  SELECT d_year AS ws_sold_year, ws_item_sk, ws_bill_customer_sk AS ws_customer_sk, SUM(ws_quantity) AS ws_qty, SUM(ws_wholesale_cost) AS ws_wc, SUM(ws_sales_price) AS ws_sp
  FROM web_sales LEFT JOIN web_returns ON wr_order_number = ws_order_number AND ws_item_sk = wr_item_sk JOIN date_dim ON ws_sold_date_sk = d_date_sk
  WHERE wr_order_number IS NULL
  GROUP BY d_year, ws_item_sk, ws_bill_customer_sk
), cs AS (
  SELECT d_year AS cs_sold_year, cs_item_sk, cs_bill_customer_sk AS cs_customer_sk, SUM(cs_quantity) AS cs_qty, SUM(cs_wholesale_cost) AS cs_wc, SUM(cs_sales_price) AS cs_sp
  FROM catalog_sales LEFT JOIN catalog_returns ON cr_order_number = cs_order_number AND cs_item_sk = cr_item_sk JOIN date_dim ON cs_sold_date_sk = d_date_sk
  WHERE cr_order_number IS NULL
  GROUP BY d_year, cs_item_sk, cs_bill_customer_sk
), ss AS (
  SELECT d_year AS ss_sold_year, ss_item_sk, ss_customer_sk, SUM(ss_quantity) AS ss_qty, SUM(ss_wholesale_cost) AS ss_wc, SUM(ss_sales_price) AS ss_sp
  FROM store_sales LEFT JOIN store_returns ON sr_ticket_number = ss_ticket_number AND ss_item_sk = sr_item_sk JOIN date_dim ON ss_sold_date_sk = d_date_sk
  WHERE sr_ticket_number IS NULL
  GROUP BY d_year, ss_item_sk, ss_customer_sk
)
SELECT ss_sold_year, ss_item_sk, ss_customer_sk, ROUND(ss_qty / (COALESCE(ws_qty, 0) + COALESCE(cs_qty, 0)), 2) AS ratio, ss_qty AS store_qty, ss_wc AS store_cost, ss_sp AS store_price,
       COALESCE(ws_qty, 0) + COALESCE(cs_qty, 0) AS other_qty, COALESCE(ws_wc, 0) + COALESCE(cs_wc, 0) AS other_cost, COALESCE(ws_sp, 0) + COALESCE(cs_sp, 0) AS other_price
FROM ss LEFT JOIN ws ON ws_sold_year = ss_sold_year AND ws_item_sk = ss_item_sk AND ws_customer_sk = ss_customer_sk
        LEFT JOIN cs ON cs_sold_year = ss_sold_year AND cs_item_sk = ss_item_sk AND cs_customer_sk = ss_customer_sk
WHERE (COALESCE(ws_qty, 0) > 0 OR COALESCE(cs_qty, 0) > 0) AND ss_sold_year IN (2000, 2001)
ORDER BY ss_sold_year, ss_item_sk, ss_customer_sk, ss_qty DESC, ss_wc DESC, ss_sp DESC, other_qty, other_cost, other_price, ROUND(ss_qty / (COALESCE(ws_qty + cs_qty, 1)), 2)
LIMIT 100;

-- query: q79 -- tickets of Mondays in stores of one size
SELECT c_last_name, c_first_name, SUBSTR(s_city, 1, 30) AS city, ss_ticket_number, amt, profit
FROM (SELECT ss_ticket_number, ss_customer_sk, store.s_city, SUM(ss_coupon_amt) AS amt, SUM(ss_net_profit) AS profit
      FROM store_sales, date_dim, store, household_demographics
      WHERE ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk AND ss_hdemo_sk = hd_demo_sk AND (hd_dep_count = 3 OR hd_vehicle_count > 1) AND d_dow IN (1, 2, 3)
        AND d_year IN (1999, 1999 + 1, 1999 + 2) AND s_number_employees BETWEEN 200 AND 295
      GROUP BY ss_ticket_number, ss_customer_sk, ss_addr_sk, store.s_city) ms, customer
WHERE ss_customer_sk = c_customer_sk
ORDER BY c_last_name, c_first_name, SUBSTR(s_city, 1, 30)
LIMIT 3;

-- query: q80 -- as q05: sales LEFT JOINed to their returns, outside of television, rolled up over three channels
WITH shops AS (
  SELECT s_store_id AS id, SUM(ss_ext_sales_price) AS sales, SUM(COALESCE(sr_return_amt, 0)) AS back, SUM(ss_net_profit - COALESCE(sr_net_loss, 0)) AS profit
  FROM store_sales LEFT OUTER JOIN store_returns ON ss_item_sk = sr_item_sk AND ss_ticket_number = sr_ticket_number, date_dim, store, item, promotion
  WHERE ss_sold_date_sk = d_date_sk AND d_date BETWEEN CAST('2000-01-31' AS DATE) AND (CAST('2000-01-31' AS DATE) + INTERVAL 30 DAYS)
    AND ss_store_sk = s_store_sk AND ss_item_sk = i_item_sk AND i_current_price > 20 AND ss_promo_sk = p_promo_sk AND p_channel_tv = 'N'
  GROUP BY s_store_id
), pages AS (
  SELECT cp_catalog_page_id AS id, SUM(cs_ext_sales_price) AS sales, SUM(COALESCE(cr_return_amount, 0)) AS back, SUM(cs_net_profit - COALESCE(cr_net_loss, 0)) AS profit
  FROM catalog_sales LEFT OUTER JOIN catalog_returns ON cs_item_sk = cr_item_sk AND cs_order_number = cr_order_number, date_dim, catalog_page, item, promotion
  WHERE cs_sold_date_sk = d_date_sk AND d_date BETWEEN CAST('2000-01-31' AS DATE) AND (CAST('2000-01-31' AS DATE) + INTERVAL 30 DAYS)
    AND cs_catalog_page_sk = cp_catalog_page_sk AND cs_item_sk = i_item_sk AND i_current_price > 20 AND cs_promo_sk = p_promo_sk AND p_channel_tv = 'N'
  GROUP BY cp_catalog_page_id
), sites AS (
  SELECT web_site_id AS id, SUM(ws_ext_sales_price) AS sales, SUM(COALESCE(wr_return_amt, 0)) AS back, SUM(ws_net_profit - COALESCE(wr_net_loss, 0)) AS profit
  FROM web_sales LEFT OUTER JOIN web_returns ON ws_item_sk = wr_item_sk AND ws_order_number = wr_order_number, date_dim, web_site, item, promotion
  WHERE ws_sold_date_sk = d_date_sk AND d_date BETWEEN CAST('2000-01-31' AS DATE) AND (CAST('2000-01-31' AS DATE) + INTERVAL 30 DAYS)
    AND ws_web_site_sk = web_site_sk AND ws_item_sk = i_item_sk AND i_current_price > 20 AND ws_promo_sk = p_promo_sk AND p_channel_tv = 'N'
  GROUP BY web_site_id
)
SELECT channel, id, SUM(sales) AS sales, SUM(back) AS back, SUM(profit) AS profit
FROM (SELECT 'store channel' AS channel, CONCAT('store', id) AS id, sales, back, profit FROM shops
      UNION ALL SELECT 'catalog channel', CONCAT('catalog_page', id), sales, back, profit FROM pages
      UNION ALL SELECT 'web channel', CONCAT('web_site', id), sales, back, profit FROM sites) x
GROUP BY ROLLUP (channel, id)
ORDER BY channel, id
LIMIT 100;

-- query: q81 -- as q30, by catalog
WITH returned AS (
  SELECT cr_returning_customer_sk AS customer, ca_state AS state, SUM(cr_return_amt_inc_tax) AS amount
  FROM catalog_returns, date_dim, customer_address
  WHERE cr_returned_date_sk = d_date_sk AND d_year IN (2000, 2001) AND cr_returning_addr_sk = ca_address_sk
  GROUP BY cr_returning_customer_sk, ca_state
)
SELECT c_customer_id, c_salutation, c_first_name, c_last_name, ca_street_number, ca_street_name, ca_street_type, ca_suite_number, ca_city, ca_county, ca_state, ca_zip,
       ca_country, ca_gmt_offset, ca_location_type, amount
FROM returned r, customer_address, customer
WHERE r.amount > (SELECT AVG(amount) * 1.2 FROM returned other WHERE r.state = other.state) AND ca_address_sk = c_current_addr_sk AND ca_state IN ('GA', 'OH', 'TN') AND r.customer = c_customer_sk
ORDER BY c_customer_id, c_salutation, c_first_name, c_last_name, ca_street_number, ca_street_name, ca_street_type, ca_suite_number, ca_city, ca_county, ca_state, ca_zip,
         ca_country, ca_gmt_offset, ca_location_type, amount
LIMIT 100;

-- query: q82 -- as q37, by stores
SELECT i_item_id, i_item_desc, i_current_price
FROM item, inventory, date_dim, store_sales
WHERE i_current_price BETWEEN 15 AND 15 + 70 AND inv_item_sk = i_item_sk AND d_date_sk = inv_date_sk
  AND d_date BETWEEN CAST('2001-01-29' AS DATE) AND (CAST('2001-01-29' AS DATE) + INTERVAL 60 DAYS)
  AND i_manufact_id IN (1, 2, 3, 4) AND inv_quantity_on_hand BETWEEN 100 AND 500 AND ss_item_sk = i_item_sk
GROUP BY i_item_id, i_item_desc, i_current_price
ORDER BY i_item_id
LIMIT 1;

-- query: q83 -- items that come back in three channels in the same weeks: IN of an IN, and their shares
WITH sr_items AS (
  SELECT i_item_id AS id, SUM(sr_return_quantity) AS qty FROM store_returns, item, date_dim
  WHERE sr_item_sk = i_item_sk AND d_date IN (SELECT d_date FROM date_dim WHERE d_week_seq IN (SELECT d_week_seq FROM date_dim WHERE d_date > '2000-01-01')) AND sr_returned_date_sk = d_date_sk
  GROUP BY i_item_id
), cr_items AS (
  SELECT i_item_id AS id, SUM(cr_return_quantity) AS qty FROM catalog_returns, item, date_dim
  WHERE cr_item_sk = i_item_sk AND d_date IN (SELECT d_date FROM date_dim WHERE d_week_seq IN (SELECT d_week_seq FROM date_dim WHERE d_date > '2000-01-01')) AND cr_returned_date_sk = d_date_sk
  GROUP BY i_item_id
), wr_items AS (
  SELECT i_item_id AS id, SUM(wr_return_quantity) AS qty FROM web_returns, item, date_dim
  WHERE wr_item_sk = i_item_sk AND d_date IN (SELECT d_date FROM date_dim WHERE d_week_seq IN (SELECT d_week_seq FROM date_dim WHERE d_date > '2000-01-01')) AND wr_returned_date_sk = d_date_sk
  GROUP BY i_item_id
)
SELECT sr_items.id, sr_items.qty AS sr_qty, sr_items.qty / (sr_items.qty + cr_items.qty + wr_items.qty) / 3.0 * 100 AS sr_part,
       cr_items.qty AS cr_qty, cr_items.qty / (sr_items.qty + cr_items.qty + wr_items.qty) / 3.0 * 100 AS cr_part,
       wr_items.qty AS wr_qty, wr_items.qty / (sr_items.qty + cr_items.qty + wr_items.qty) / 3.0 * 100 AS wr_part, (sr_items.qty + cr_items.qty + wr_items.qty) / 3.0 AS average
FROM sr_items, cr_items, wr_items
WHERE sr_items.id = cr_items.id AND sr_items.id = wr_items.id
ORDER BY sr_items.id, sr_qty
LIMIT 100;

-- query: q84 -- customers of a city and an income who returned something, once for each return
SELECT c_customer_id AS customer, CONCAT(COALESCE(c_last_name, ''), ', ', COALESCE(c_first_name, '')) AS name
FROM customer, customer_address, customer_demographics, household_demographics, income_band, store_returns
WHERE ca_city IN ('Fairview', 'Midway', 'Oakland') AND c_current_addr_sk = ca_address_sk AND ib_lower_bound >= 0 AND ib_upper_bound <= 0 + 60000 AND ib_income_band_sk = hd_income_band_sk
  AND cd_demo_sk = c_current_cdemo_sk AND hd_demo_sk = c_current_hdemo_sk AND sr_cdemo_sk = cd_demo_sk
ORDER BY c_customer_id
LIMIT 2;

-- query: q85 -- reasons of web returns under two groups of alternatives
SELECT SUBSTR(r_reason_desc, 1, 20) AS reason, AVG(ws_quantity) AS q, AVG(wr_refunded_cash) AS c, AVG(wr_fee) AS f
FROM web_sales, web_returns, web_page, customer_demographics cd1, customer_demographics cd2, customer_address, date_dim, reason
WHERE ws_web_page_sk = wp_web_page_sk AND ws_item_sk = wr_item_sk AND ws_order_number = wr_order_number AND ws_sold_date_sk = d_date_sk AND d_year IN (2000, 2001)
  AND cd1.cd_demo_sk = wr_refunded_cdemo_sk AND cd2.cd_demo_sk = wr_returning_cdemo_sk AND ca_address_sk = wr_refunded_addr_sk AND r_reason_sk = wr_reason_sk
  AND ((cd1.cd_marital_status = 'M' AND cd1.cd_marital_status = cd2.cd_marital_status AND ws_sales_price BETWEEN 1 AND 150)
    OR (cd1.cd_marital_status = 'S' AND cd1.cd_education_status = cd2.cd_education_status AND ws_sales_price BETWEEN 5 AND 100)
    OR (cd1.cd_gender = 'F' AND cd1.cd_education_status = cd2.cd_education_status AND ws_sales_price BETWEEN 15 AND 200))
  AND ((ca_country = 'United States' AND ca_state IN ('TN', 'OH') AND ws_net_profit BETWEEN -5000 AND 2000)
    OR (ca_country = 'United States' AND ca_state IN ('GA') AND ws_net_profit BETWEEN -150 AND 3000))
GROUP BY r_reason_desc
ORDER BY SUBSTR(r_reason_desc, 1, 20), AVG(ws_quantity), AVG(wr_refunded_cash), AVG(wr_fee)
LIMIT 100;

-- query: q86 -- as q36, web sales
SELECT SUM(ws_net_paid) AS total, i_category, i_class, GROUPING(i_category) + GROUPING(i_class) AS level,
       RANK() OVER (PARTITION BY GROUPING(i_category) + GROUPING(i_class), CASE WHEN GROUPING(i_class) = 0 THEN i_category END ORDER BY SUM(ws_net_paid) DESC) AS place
FROM web_sales, date_dim d1, item
WHERE d1.d_month_seq BETWEEN 1200 AND 1200 + 11 AND d1.d_date_sk = ws_sold_date_sk AND i_item_sk = ws_item_sk
GROUP BY ROLLUP (i_category, i_class)
ORDER BY level DESC, CASE WHEN level = 0 THEN i_category END, place
LIMIT 5;

-- query: q87 -- how many customers bought in stores only: EXCEPT
SELECT COUNT(*) AS cnt
FROM ((SELECT DISTINCT c_last_name, c_first_name, d_date FROM store_sales, date_dim, customer
       WHERE ss_sold_date_sk = d_date_sk AND ss_customer_sk = c_customer_sk AND d_month_seq BETWEEN 1200 AND 1200 + 11)
      EXCEPT
      (SELECT DISTINCT c_last_name, c_first_name, d_date FROM catalog_sales, date_dim, customer
       WHERE cs_sold_date_sk = d_date_sk AND cs_bill_customer_sk = c_customer_sk AND d_month_seq BETWEEN 1200 AND 1200 + 11)
      EXCEPT
      (SELECT DISTINCT c_last_name, c_first_name, d_date FROM web_sales, date_dim, customer
       WHERE ws_sold_date_sk = d_date_sk AND ws_bill_customer_sk = c_customer_sk AND d_month_seq BETWEEN 1200 AND 1200 + 11)) cool;

-- query: q88 -- eight counts of half hours side by side
SELECT *
FROM (SELECT COUNT(*) AS h8 FROM store_sales, household_demographics, time_dim, store WHERE ss_sold_time_sk = t_time_sk AND ss_hdemo_sk = hd_demo_sk AND ss_store_sk = s_store_sk
      AND t_hour = 8 AND t_minute >= 30 AND ((hd_dep_count = 4 AND hd_vehicle_count <= 4 + 2) OR (hd_dep_count = 2 AND hd_vehicle_count <= 2 + 2) OR (hd_dep_count = 0 AND hd_vehicle_count <= 0 + 2)) AND s_store_name = 'ese') s1,
     (SELECT COUNT(*) AS h9 FROM store_sales, household_demographics, time_dim, store WHERE ss_sold_time_sk = t_time_sk AND ss_hdemo_sk = hd_demo_sk AND ss_store_sk = s_store_sk
      AND t_hour = 9 AND t_minute < 30 AND ((hd_dep_count = 4 AND hd_vehicle_count <= 4 + 2) OR (hd_dep_count = 2 AND hd_vehicle_count <= 2 + 2) OR (hd_dep_count = 0 AND hd_vehicle_count <= 0 + 2)) AND s_store_name = 'ese') s2,
     (SELECT COUNT(*) AS h12 FROM store_sales, household_demographics, time_dim, store WHERE ss_sold_time_sk = t_time_sk AND ss_hdemo_sk = hd_demo_sk AND ss_store_sk = s_store_sk
      AND t_hour = 12 AND t_minute >= 30 AND ((hd_dep_count = 4 AND hd_vehicle_count <= 4 + 2) OR (hd_dep_count = 2 AND hd_vehicle_count <= 2 + 2) OR (hd_dep_count = 0 AND hd_vehicle_count <= 0 + 2)) AND s_store_name = 'ought') s3,
     (SELECT COUNT(*) AS h13 FROM store_sales, household_demographics, time_dim, store WHERE ss_sold_time_sk = t_time_sk AND ss_hdemo_sk = hd_demo_sk AND ss_store_sk = s_store_sk
      AND t_hour = 13 AND t_minute < 30 AND ((hd_dep_count = 4 AND hd_vehicle_count <= 4 + 2) OR (hd_dep_count = 2 AND hd_vehicle_count <= 2 + 2) OR (hd_dep_count = 0 AND hd_vehicle_count <= 0 + 2)) AND s_store_name = 'ought') s4,
     (SELECT COUNT(*) AS h17 FROM store_sales, household_demographics, time_dim, store WHERE ss_sold_time_sk = t_time_sk AND ss_hdemo_sk = hd_demo_sk AND ss_store_sk = s_store_sk
      AND t_hour = 17 AND t_minute >= 30 AND ((hd_dep_count = 4 AND hd_vehicle_count <= 4 + 2) OR (hd_dep_count = 2 AND hd_vehicle_count <= 2 + 2) OR (hd_dep_count = 0 AND hd_vehicle_count <= 0 + 2)) AND s_store_name = 'able') s5,
     (SELECT COUNT(*) AS h18 FROM store_sales, household_demographics, time_dim, store WHERE ss_sold_time_sk = t_time_sk AND ss_hdemo_sk = hd_demo_sk AND ss_store_sk = s_store_sk
      AND t_hour = 18 AND t_minute < 30 AND ((hd_dep_count = 4 AND hd_vehicle_count <= 4 + 2) OR (hd_dep_count = 2 AND hd_vehicle_count <= 2 + 2) OR (hd_dep_count = 0 AND hd_vehicle_count <= 0 + 2)) AND s_store_name = 'able') s6,
     (SELECT COUNT(*) AS h20 FROM store_sales, household_demographics, time_dim, store WHERE ss_sold_time_sk = t_time_sk AND ss_hdemo_sk = hd_demo_sk AND ss_store_sk = s_store_sk
      AND t_hour = 20 AND t_minute >= 30 AND ((hd_dep_count = 4 AND hd_vehicle_count <= 4 + 2) OR (hd_dep_count = 2 AND hd_vehicle_count <= 2 + 2) OR (hd_dep_count = 0 AND hd_vehicle_count <= 0 + 2)) AND s_store_name = 'ese') s7,
     (SELECT COUNT(*) AS h21 FROM store_sales, household_demographics, time_dim, store WHERE ss_sold_time_sk = t_time_sk AND ss_hdemo_sk = hd_demo_sk AND ss_store_sk = s_store_sk
      AND t_hour = 21 AND t_minute < 30 AND ((hd_dep_count = 4 AND hd_vehicle_count <= 4 + 2) OR (hd_dep_count = 2 AND hd_vehicle_count <= 2 + 2) OR (hd_dep_count = 0 AND hd_vehicle_count <= 0 + 2)) AND s_store_name = 'ese') s8;

-- query: q89 -- months of classes that differ from their usual one
SELECT *
FROM (SELECT i_category, i_class, i_brand, s_store_name, s_company_name, d_moy, SUM(ss_sales_price) AS sales,
             AVG(SUM(ss_sales_price)) OVER (PARTITION BY i_category, i_brand, s_store_name, s_company_name) AS usual
      FROM item, store_sales, date_dim, store
      WHERE ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk AND d_year IN (2000)
        AND ((i_category IN ('Books', 'Sports') AND i_class IN ('class 1', 'class 2')) OR (i_category IN ('Music') AND i_class IN ('class 2')))
      GROUP BY i_category, i_class, i_brand, s_store_name, s_company_name, d_moy) each
WHERE CASE WHEN usual <> 0 THEN ABS(sales - usual) / usual ELSE NULL END > 0.1
ORDER BY sales - usual, s_store_name
LIMIT 8;

-- query: q90 -- web sales of mornings over those of evenings: two counts crossed
SELECT CAST(am AS DECIMAL(15,4)) / CAST(pm AS DECIMAL(15,4)) AS am_pm_ratio
FROM (SELECT COUNT(*) AS am FROM web_sales, household_demographics, time_dim, web_page
      WHERE ws_sold_time_sk = t_time_sk AND ws_ship_hdemo_sk = hd_demo_sk AND ws_web_page_sk = wp_web_page_sk AND t_hour BETWEEN 8 AND 8 + 1 AND hd_dep_count < 4 AND wp_char_count BETWEEN 5000 AND 5600) morning,
     (SELECT COUNT(*) AS pm FROM web_sales, household_demographics, time_dim, web_page
      WHERE ws_sold_time_sk = t_time_sk AND ws_ship_hdemo_sk = hd_demo_sk AND ws_web_page_sk = wp_web_page_sk AND t_hour BETWEEN 19 AND 19 + 2 AND hd_dep_count < 4 AND wp_char_count BETWEEN 5000 AND 5600) evening
ORDER BY am_pm_ratio
LIMIT 100;

-- query: q91 -- losses of call centers by kind of customer
SELECT cc_call_center_id AS center, cc_name AS name, cc_manager AS manager, SUM(cr_net_loss) AS loss
FROM call_center, catalog_returns, date_dim, customer, customer_address, customer_demographics, household_demographics
WHERE cr_call_center_sk = cc_call_center_sk AND cr_returned_date_sk = d_date_sk AND cr_returning_customer_sk = c_customer_sk AND cd_demo_sk = c_current_cdemo_sk
  AND hd_demo_sk = c_current_hdemo_sk AND ca_address_sk = c_current_addr_sk AND d_year IN (2000, 2001)
  AND ((cd_marital_status = 'M' AND cd_education_status = 'Unknown') OR cd_marital_status IN ('W', 'S', 'D')) AND hd_buy_potential LIKE '%0%' AND ca_gmt_offset IN (-5, -6)
GROUP BY cc_call_center_id, cc_name, cc_manager, cd_marital_status, cd_education_status
ORDER BY SUM(cr_net_loss) DESC;

-- query: q92 -- as q32, on the web
SELECT SUM(ws_ext_discount_amt) AS `Excess Discount Amount`
FROM web_sales, item, date_dim
WHERE i_manufact_id IN (1, 2, 4) AND i_item_sk = ws_item_sk AND d_date BETWEEN DATE '2000-01-27' AND (CAST('2000-01-27' AS DATE) + INTERVAL 90 DAYS) AND d_date_sk = ws_sold_date_sk
  AND ws_ext_discount_amt > (
    SELECT 1.1 * AVG(ws_ext_discount_amt) FROM web_sales, date_dim
    WHERE ws_item_sk = i_item_sk AND d_date BETWEEN DATE '2000-01-27' AND (CAST('2000-01-27' AS DATE) + INTERVAL 90 DAYS) AND d_date_sk = ws_sold_date_sk)
ORDER BY SUM(ws_ext_discount_amt)
LIMIT 100;

-- query: q93 -- what customers really paid: a LEFT JOIN whose right side is filtered
SELECT ss_customer_sk, SUM(act_sales) AS sales
FROM (SELECT ss_item_sk, ss_ticket_number, ss_customer_sk,
             CASE WHEN sr_return_quantity IS NOT NULL THEN (ss_quantity - sr_return_quantity) * ss_sales_price ELSE (ss_quantity * ss_sales_price) END AS act_sales
      FROM store_sales LEFT OUTER JOIN store_returns ON sr_item_sk = ss_item_sk AND sr_ticket_number = ss_ticket_number, reason
      WHERE sr_reason_sk = r_reason_sk AND r_reason_desc IN ('reason 1', 'reason 2')) t
GROUP BY ss_customer_sk
ORDER BY sales, ss_customer_sk
LIMIT 100;

-- query: q94 -- as q16, on the web
SELECT COUNT(DISTINCT ws_order_number) AS `order count`, SUM(ws_ext_ship_cost) AS `total shipping cost`, SUM(ws_net_profit) AS `total net profit`
FROM web_sales ws1, date_dim, customer_address, web_site
WHERE d_date BETWEEN DATE '2000-01-01' AND (CAST('2000-01-01' AS DATE) + INTERVAL 360 DAYS) AND ws1.ws_ship_date_sk = d_date_sk
  AND ws1.ws_ship_addr_sk = ca_address_sk AND ca_state IN ('GA', 'OH', 'TN') AND ws1.ws_web_site_sk = web_site_sk AND web_company_name = 'pri'
  AND EXISTS (SELECT * FROM web_sales ws2 WHERE ws1.ws_order_number = ws2.ws_order_number AND ws1.ws_warehouse_sk <> ws2.ws_warehouse_sk)
  AND NOT EXISTS (SELECT * FROM web_returns wr1 WHERE ws1.ws_order_number = wr1.wr_order_number)
ORDER BY COUNT(DISTINCT ws_order_number)
LIMIT 100;

-- query: q95 -- the returned ones: a CTE of a self join with <>, read by two INs
WITH two_warehouses AS (
  SELECT ws1.ws_order_number, ws1.ws_warehouse_sk AS wh1, ws2.ws_warehouse_sk AS wh2
  FROM web_sales ws1, web_sales ws2
  WHERE ws1.ws_order_number = ws2.ws_order_number AND ws1.ws_warehouse_sk <> ws2.ws_warehouse_sk
)
SELECT COUNT(DISTINCT ws_order_number) AS `order count`, SUM(ws_ext_ship_cost) AS `total shipping cost`, SUM(ws_net_profit) AS `total net profit`
FROM web_sales ws1, date_dim, customer_address, web_site
WHERE d_date BETWEEN DATE '2000-01-01' AND (CAST('2000-01-01' AS DATE) + INTERVAL 460 DAYS) AND ws1.ws_ship_date_sk = d_date_sk
  AND ws1.ws_ship_addr_sk = ca_address_sk AND ca_state IN ('GA', 'OH', 'TN') AND ws1.ws_web_site_sk = web_site_sk AND web_company_name IN ('pri', 'able')
  AND ws1.ws_order_number IN (SELECT ws_order_number FROM two_warehouses)
  AND ws1.ws_order_number IN (SELECT wr_order_number FROM web_returns, two_warehouses WHERE wr_order_number = two_warehouses.ws_order_number)
ORDER BY COUNT(DISTINCT ws_order_number)
LIMIT 100;

-- query: q96 -- one count
SELECT COUNT(*) AS cnt
FROM store_sales, household_demographics, time_dim, store
WHERE ss_sold_time_sk = t_time_sk AND ss_hdemo_sk = hd_demo_sk AND ss_store_sk = s_store_sk AND t_hour IN (8, 12, 20) AND t_minute >= 0 AND hd_dep_count <= 3 AND s_store_name = 'ese'
ORDER BY COUNT(*)
LIMIT 100;

-- query: q97 -- buyers in stores, by catalog, or both: a FULL JOIN of two grouped CTEs
WITH shoppers AS (
  SELECT ss_customer_sk AS customer, ss_item_sk AS item FROM store_sales, date_dim
  WHERE ss_sold_date_sk = d_date_sk AND d_month_seq BETWEEN 1200 AND 1200 + 11
  GROUP BY ss_customer_sk, ss_item_sk
), callers AS (
  SELECT cs_bill_customer_sk AS customer, cs_item_sk AS item FROM catalog_sales, date_dim
  WHERE cs_sold_date_sk = d_date_sk AND d_month_seq BETWEEN 1200 AND 1200 + 11
  GROUP BY cs_bill_customer_sk, cs_item_sk
)
SELECT SUM(CASE WHEN s.customer IS NOT NULL AND c.customer IS NULL THEN 1 ELSE 0 END) AS store_only,
       SUM(CASE WHEN s.customer IS NULL AND c.customer IS NOT NULL THEN 1 ELSE 0 END) AS catalog_only,
       SUM(CASE WHEN s.customer IS NOT NULL AND c.customer IS NOT NULL THEN 1 ELSE 0 END) AS both_channels
FROM shoppers s FULL OUTER JOIN callers c ON s.customer = c.customer AND s.item = c.item
LIMIT 100;

-- query: q98 -- as q12, in stores
SELECT i_item_id, i_item_desc, i_category, i_class, i_current_price, SUM(ss_ext_sales_price) AS revenue,
       SUM(ss_ext_sales_price) * 100 / SUM(SUM(ss_ext_sales_price)) OVER (PARTITION BY i_class) AS ratio
FROM store_sales, item, date_dim
WHERE ss_item_sk = i_item_sk AND i_category IN ('Sports', 'Books', 'Music') AND ss_sold_date_sk = d_date_sk
  AND d_date BETWEEN CAST('2000-01-31' AS DATE) AND (CAST('2000-01-31' AS DATE) + INTERVAL 30 DAYS)
GROUP BY i_item_id, i_item_desc, i_category, i_class, i_current_price
ORDER BY i_category, i_class, i_item_id, i_item_desc, ratio;

-- query: q99 -- as q62, by catalog
SELECT SUBSTR(w_warehouse_name, 1, 20) AS warehouse, sm_type, LOWER(cc_name) AS center,
       SUM(CASE WHEN cs_ship_date_sk - cs_sold_date_sk <= 3 THEN 1 ELSE 0 END) AS `3 days`,
       SUM(CASE WHEN cs_ship_date_sk - cs_sold_date_sk > 3 AND cs_ship_date_sk - cs_sold_date_sk <= 60 THEN 1 ELSE 0 END) AS `4-60 days`,
       SUM(CASE WHEN cs_ship_date_sk - cs_sold_date_sk > 60 AND cs_ship_date_sk - cs_sold_date_sk <= 90 THEN 1 ELSE 0 END) AS `61-90 days`,
       SUM(CASE WHEN cs_ship_date_sk - cs_sold_date_sk > 90 THEN 1 ELSE 0 END) AS `>90 days`
FROM catalog_sales, warehouse, ship_mode, call_center, date_dim
WHERE d_month_seq BETWEEN 1200 AND 1200 + 23 AND cs_ship_date_sk = d_date_sk AND cs_warehouse_sk = w_warehouse_sk AND cs_ship_mode_sk = sm_ship_mode_sk AND cs_call_center_sk = cc_call_center_sk
GROUP BY SUBSTR(w_warehouse_name, 1, 20), sm_type, cc_name
ORDER BY warehouse, sm_type, center
LIMIT 100;
