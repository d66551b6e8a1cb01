-- Queries of our own in the shapes of TPC-DS's, in Spark SQL. Constants suit the rows of data.py.

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
  AND CASE WHEN c1.total > 0 THEN c2.total / c1.total END > CASE WHEN s1.total > 0 THEN s2.total / s1.total END
  AND CASE WHEN c1.total > 0 THEN c2.total / c1.total END > CASE WHEN w1.total > 0 THEN w2.total / w1.total END
ORDER BY s2.id, s2.first_name, s2.last_name, s2.flag
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
       now.number AS number, then.channel AS channel_before, then.sales AS sales_before, then.number AS number_before
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
) then
WHERE now.i_brand_id = then.i_brand_id AND now.i_class_id = then.i_class_id AND now.i_category_id = then.i_category_id
ORDER BY now.channel, now.i_brand_id, now.i_class_id, now.i_category_id
LIMIT 100;

-- query: q23a -- one sum over sales of popular items to the best customers; LIMIT over one row
WITH popular AS (
  SELECT SUBSTR(i_item_desc, 1, 30) AS words, i_item_sk AS item, d_date AS day, COUNT(*) AS times
  FROM store_sales, date_dim, item
  WHERE ss_sold_date_sk = d_date_sk AND ss_item_sk = i_item_sk AND d_year IN (2000, 2001)
  GROUP BY SUBSTR(i_item_desc, 1, 30), i_item_sk, d_date
  HAVING COUNT(*) > 1
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
  HAVING COUNT(*) > 1
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

-- query: q32 -- a sum of what exceeds a correlated average; LIMIT without ORDER BY over one row
SELECT SUM(cs_ext_discount_amt) AS `excess discount`
FROM catalog_sales, item, date_dim
WHERE i_manufact_id IN (2, 3) AND i_item_sk = cs_item_sk AND d_date_sk = cs_sold_date_sk
  AND d_date BETWEEN DATE '2000-01-27' AND (CAST('2000-01-27' AS DATE) + INTERVAL 90 DAYS)
  AND cs_ext_discount_amt > (
    SELECT 1.3 * AVG(cs_ext_discount_amt)
    FROM catalog_sales, date_dim
    WHERE cs_item_sk = i_item_sk AND d_date BETWEEN DATE '2000-01-27' AND (CAST('2000-01-27' AS DATE) + INTERVAL 90 DAYS)
      AND d_date_sk = cs_sold_date_sk)
LIMIT 100;

-- query: q38 -- how many customers bought on the same day in three channels: INTERSECT
SELECT COUNT(*) AS customers
FROM (
  SELECT DISTINCT c_last_name, c_first_name, d_moy FROM store_sales, date_dim, customer
  WHERE ss_sold_date_sk = d_date_sk AND ss_customer_sk = c_customer_sk AND d_month_seq BETWEEN 1200 AND 1200 + 11
  INTERSECT
  SELECT DISTINCT c_last_name, c_first_name, d_moy FROM catalog_sales, date_dim, customer
  WHERE cs_sold_date_sk = d_date_sk AND cs_bill_customer_sk = c_customer_sk AND d_month_seq BETWEEN 1200 AND 1200 + 11
  INTERSECT
  SELECT DISTINCT c_last_name, c_first_name, d_moy FROM web_sales, date_dim, customer
  WHERE ws_sold_date_sk = d_date_sk AND ws_bill_customer_sk = c_customer_sk AND d_month_seq BETWEEN 1200 AND 1200 + 11
) hot
LIMIT 100;

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
  SELECT m.i_category, m.i_brand, m.s_store_name, m.s_company_name, m.d_year, m.d_moy, m.usual, m.sales,
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
  SELECT m.i_category, m.i_brand, m.cc_name, m.d_year, m.d_moy, m.usual, m.sales, before.sales AS sales_before, after.sales AS sales_after
  FROM monthly m, monthly before, monthly after
  WHERE m.i_category = before.i_category AND m.i_category = after.i_category AND m.i_brand = before.i_brand AND m.i_brand = after.i_brand
    AND m.cc_name = before.cc_name AND m.cc_name = after.cc_name AND m.place = before.place + 1 AND m.place = after.place - 1
)
SELECT * FROM beside
WHERE d_year = 2000 AND usual > 0 AND CASE WHEN usual > 0 THEN ABS(sales - usual) / usual ELSE NULL END > 0.1
ORDER BY sales - usual, sales_before
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
